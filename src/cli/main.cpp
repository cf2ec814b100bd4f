#include "cli/program.hpp"

int main(int argc, char** argv) { return sherd::cli::run_program(argc, argv); }
