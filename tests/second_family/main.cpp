// The program `sherd` with one more family: the registration line is all that it takes.
#include "cli/program.hpp"
#include "family.hpp"

int main(int argc, char** argv) {
  sherd::models::register_family(sherd::second_family::make_family());
  return sherd::cli::run_program(argc, argv);
}
