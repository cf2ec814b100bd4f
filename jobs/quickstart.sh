#!/bin/bash
# From nothing to a trained model: builds sherd, trains a byte-level Llama of 1.7 million parameters on
# real text under FULL_SHARD, kills the run with SIGKILL while it writes a checkpoint, resumes it on
# another number of ranks, looks into the checkpoint with the HDF5 tools and lets the model write.
# usage: jobs/quickstart.sh [text files...]
#   May be set: STEPS (of the whole run), FOLDER (where everything is put; emptied first), SHERD (a
#   program that is built already).
set -euo pipefail
texts=()
for file in "$@"; do
  texts+=("$(realpath "$file")")
done
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

steps=${STEPS:-420}
folder=$(realpath -m "${FOLDER:-quickstart}")
[ -t 1 ] || export TERM=dumb  # plain lines: mpirun shows its ranks a terminal in any case
sherd=${SHERD:-build/quickstart/bin/sherd}
interval=$((steps / 7))  # between checkpoints; the second one is interrupted

build_program() {
  step "setup and build"
  bash jobs/setup.sh
  if [ -n "${SHERD:-}" ]; then
    return
  fi
  local cuda=OFF
  [ "$(pick_preset)" = ci ] && cuda=ON
  configure quickstart -DSHERD_ENABLE_CUDA=$cuda > /dev/null
  build quickstart --target sherd_program
}

# The King James Bible (4.4 MB) where Debian's package is or can be had, else the licences every Debian
# machine has.
find_text() {
  if [ ${#texts[@]} -gt 0 ]; then
    return
  fi
  if ! command -v bible > /dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get install -y -q --no-install-recommends bible-kjv > /dev/null 2>&1 || true
  fi
  if command -v bible > /dev/null; then
    bible -f gen1:1-rev22:21 > "$folder/text.txt"
  else
    cat /usr/share/common-licenses/* > "$folder/text.txt"
  fi
  texts=("$folder/text.txt")
}

write_config() {
  local list
  list=$(printf '"%s", ' "${texts[@]}")
  cat > "$folder/config.yaml" << YAML
config_version: 1
model:
  preset: tiny
data:
  text: [${list%, }]
  sequence_length: 128
  order: shuffled
training:
  steps: $steps
  global_batch_size: 16
  micro_batch_size: 16
  max_grad_norm: 1.0
  seed: 1
optimizer:
  name: adamw
  learning_rate: 3.0e-3
  weight_decay: 0.1
  decay: matrices
  schedule: cosine
  warmup_steps: 20
  min_learning_rate: 3.0e-4
fsdp_config:
  sharding_strategy: FULL_SHARD
  device: cpu
  checkpoint_interval: $interval
  checkpoint_dir: "$folder/checkpoints"
checkpoint:
  keep_last: 3
  resume: auto
logging:
  directory: "$folder/run"
  interval: 25
YAML
  cat "$folder/config.yaml"
}

# kill_tree PID: SIGKILL for a process and everything below it, from the leaves up.
kill_tree() {
  local child
  for child in $(cat "/proc/$1/task/$1/children" 2> /dev/null || true); do
    kill_tree "$child"
  done
  kill -KILL "$1" 2> /dev/null || true
}

half_written() { compgen -G "$folder/checkpoints/.tmp-$1-*" > /dev/null; }

# Starts on 2 ranks with a slowed-down writer and kills everything in the middle of the second write.
train_and_kill() {
  step "train on 2 ranks; SIGKILL while a checkpoint is being written"
  SHERD_TEST_WRITE_BYTES_PER_SECOND=2500000 mpirun -n 2 "$sherd" train "$folder/config.yaml" &
  local pid=$!
  local first second
  first=$(printf 'step-%08d' $interval)
  second=$(printf 'step-%08d' $((2 * interval)))
  while kill -0 $pid 2> /dev/null; do
    if [ -d "$folder/checkpoints/$first" ] && half_written "$second"; then
      sleep 0.5  # somewhere inside the write
      break
    fi
    sleep 0.05
  done
  kill_tree $pid
  wait $pid 2> /dev/null && { echo "the run ended before it could be killed"; exit 1; }
  half_written "$second" || { echo "no write was interrupted"; exit 1; }
  echo "killed. What lies on disk, the half-written checkpoint included:"
  find "$folder/checkpoints" -mindepth 1 -printf '  %P  %s bytes\n' | sort
}

resume() {
  step "resume on 3 ranks, to the end"
  mpirun -n 3 "$sherd" train "$folder/config.yaml"
}

look_inside() {
  step "the checkpoint, as any HDF5 tool sees it"
  local newest
  newest=$(find "$folder/checkpoints" -maxdepth 1 -name 'step-*' | sort | tail -n 1)
  "$sherd" ckpt ls "$folder/checkpoints"
  "$sherd" ckpt verify "$newest"
  echo "\$ h5ls -r $newest/index.h5"
  h5ls -r "$newest/index.h5" | awk 'NR <= 40 {print} END {if (NR > 40) print "... and", NR - 40, "more"}'
  echo "\$ h5dump -A 0 -d /model/norm/weight -s 0 -c 8 $newest/index.h5"
  h5dump -A 0 -d /model/norm/weight -s 0 -c 8 "$newest/index.h5"
}

mkdir -p "$folder"
rm -rf "${folder:?}"/{checkpoints,run,config.yaml,text.txt}
build_program
built=$SECONDS
find_text
write_config
train_and_kill
resume
look_inside
step "loss against what letter pairs alone could do"
python3 jobs/loss_curve.py "$folder/run/metrics.jsonl" "${texts[@]}"
step "text the model writes"
"$sherd" generate "$folder/checkpoints" --prompt "And the LORD said" --max-tokens 400 --temperature 0.7 --seed 1
printf '\n\nquickstart: %d s, %d s of them after the build; everything is in %s\n' \
  "$SECONDS" "$((SECONDS - built))" "$folder"
