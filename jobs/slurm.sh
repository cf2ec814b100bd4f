# shellcheck shell=bash
# What the sbatch scripts of this folder share; read by them with `source`, not run. One job is one run of
# `run_and_requeue sherd train ...`, over as many starts as it takes.
#
# Variables it reads: SHERD (the program), SHERD_SITE_ENV (a file to source first: modules, network),
# LAUNCHER (srun or mpirun), SRUN_OPTIONS, MPIRUN_OPTIONS, KILL_AFTER, MAX_STALLED_STARTS.

say() { echo "sherd job: $*"; }

# Modules and variables of the site. It may set any of the variables above.
read_site_env() {
  if [ -n "${SHERD_SITE_ENV:-}" ]; then
    # shellcheck source=/dev/null
    source "$SHERD_SITE_ENV" || { say "SHERD_SITE_ENV=$SHERD_SITE_ENV cannot be read"; exit 2; }
  fi
  SHERD=${SHERD:-sherd}
  if ! command -v "$SHERD" > /dev/null; then
    say "the program '$SHERD' was not found on $(hostname). Try: SHERD=/path/to/sherd, or a module or" \
      "'spack load sherd' in the file that SHERD_SITE_ENV names"
    exit 2
  fi
  # srun does not take it from sbatch: without it every rank gets one core (since Slurm 22.05), and with
  # it one thread for each of its cores, unless OMP_NUM_THREADS says otherwise.
  export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}
}

# A field of what Slurm knows of this job, such as JobState.
job_field() { scontrol --oneliner show job "$SLURM_JOB_ID" | grep -o " $1=[^ ]*" | head -n 1 | cut -d= -f2-; }

# Ranks of a node: --ntasks-per-node, else one for each GPU, else as many as --cpus-per-task fits. The
# scripts ask for nodes rather than tasks, since a job that has run on N nodes is held by Slurm (22.05) to the
# tasks it had, and could not go on with fewer nodes.
count_ranks() {
  local fit=$((SLURM_CPUS_ON_NODE / SRUN_CPUS_PER_TASK))
  ranks_per_node=${SLURM_NTASKS_PER_NODE:-${SLURM_GPUS_ON_NODE:-$((fit > 0 ? fit : 1))}}
  ranks=$((SLURM_JOB_NUM_NODES * ranks_per_node))
}

# srun starts the ranks where Slurm has a PMIx plugin, mpirun elsewhere.
choose_launcher() {
  if [ -z "${LAUNCHER:-}" ]; then
    if srun --mpi=list 2>&1 | grep -qw pmix; then
      LAUNCHER=srun
    else
      LAUNCHER=mpirun
      say "this Slurm has no PMIx plugin (srun --mpi=list): ranks are started by mpirun"
    fi
  fi
  count_ranks
  case $LAUNCHER in
    srun)
      # --wait: how long ranks may outlive the first of them. Not --kill-on-bad-exit: it would kill those
      # that are a moment later to end with code 85.
      # shellcheck disable=SC2206  # options are words
      launch=(srun --mpi=pmix --wait="${KILL_AFTER:-30}" --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$ranks"
        --ntasks-per-node="$ranks_per_node" ${SRUN_OPTIONS:-})
      ;;
    mpirun)
      # shellcheck disable=SC2206
      launch=(env "SLURM_TASKS_PER_NODE=$ranks_per_node(x$SLURM_JOB_NUM_NODES)" mpirun -n "$ranks"
        --map-by "ppr:$ranks_per_node:node:PE=$SRUN_CPUS_PER_TASK" ${MPIRUN_OPTIONS:-})
      ;;
    *)
      say "LAUNCHER is '$LAUNCHER'. Try: srun or mpirun"
      exit 2
      ;;
  esac
}

describe_job() {
  say "$SLURM_JOB_ID, start ${SLURM_RESTART_COUNT:-0}, $(date '+%F %T'): $ranks ranks on" \
    "$SLURM_JOB_NODELIST ($SLURM_JOB_NUM_NODES nodes, $ranks_per_node ranks of $SRUN_CPUS_PER_TASK cores each)" \
    "by $LAUNCHER"
}

# Starts of this job that went on from where the start before them did. The log has a line for each start
# and one for what it resumed from.
stalled_starts() {
  awk '
    /^sherd job: .*, start [0-9]+, / { begin[++starts] = 0 }
    /resumed from .* at step [0-9]+$/ { begin[starts] = $NF }
    END {
      for (i = starts; i > 1 && begin[i] == begin[i - 1]; --i) ++stalled
      print stalled + 0
    }' "$(job_field StdOut)"
}

# A job that never gets as far as a checkpoint would be requeued for ever.
stop_if_stalled() {
  local most=${MAX_STALLED_STARTS:-4} stalled
  stalled=$(stalled_starts)
  if [ "$stalled" -ge "$most" ]; then
    say "the last $stalled restarts began at the same step as the start before (none got as far as a" \
      "checkpoint); not requeued again. Try: a lower fsdp_config.checkpoint_interval, a longer --time," \
      "or MAX_STALLED_STARTS=N"
    exit 1
  fi
}

# The signal goes to the launcher, which passes it on to every rank. SIGTERM becomes SIGUSR1: srun and
# mpirun take the first for an order to end the ranks.
on_signal() {
  signalled=$1
  interrupted=1
  if [ -z "$launcher_ended" ]; then
    say "SIG$1 after $SECONDS s: the ranks finish their step and save"
    pass_signal_on
  fi
}
pass_signal_on() {
  if [ -n "$launcher_pid" ]; then
    kill -USR1 "$launcher_pid" 2> /dev/null
  fi
}

# From the moment this file is read: a signal before the ranks run must not be lost.
signalled='' launcher_pid='' launcher_ended=''
trap 'on_signal TERM' TERM
trap 'on_signal USR1' USR1
trap 'on_signal USR2' USR2

# wait_for PID: its exit code. A trap ends bash's wait, so it waits again.
wait_for() {
  local code
  while :; do
    interrupted=
    wait "$1"
    code=$?
    [ -n "$interrupted" ] || return "$code"
  done
}

# mpirun whose ranks are gone waits for ever when it cannot reach its daemon on another node.
watch_mpirun() {
  local child ranks='' had_ranks=''
  while [ -z "$had_ranks" ] || [ -n "$ranks" ]; do
    sleep 2
    ranks=''
    for child in $(cat "/proc/$launcher_pid/task/"*/children 2> /dev/null); do
      if [[ $(cat "/proc/$child/comm" 2> /dev/null) != srun ]]; then
        ranks=yes had_ranks=yes
      fi
    done
  done
  sleep "${KILL_AFTER:-30}"
  say "mpirun has no ranks left on $(hostname) and does not end: killing it"
  kill -KILL "$launcher_pid" 2> /dev/null
}

# Whether all nodes of the job still start processes, of which Slurm itself may need minutes to notice that
# they do not. Ends early when Slurm ends the job, as it does once it has noticed.
nodes_answer() {
  timeout 120 srun --mpi=none --overlap --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" \
    --ntasks-per-node=1 --cpus-per-task=1 --gres=none true &
  wait "$!"
}

# Why a run that ended with code $1 may go on later, in $reason; fails when there is none.
reason_to_requeue() {
  if [ "$1" -eq 85 ]; then
    reason="stopped early after a checkpoint"
  elif [ "$1" -eq 0 ] || [ "$1" -eq 2 ]; then
    return 1
  elif [ -n "$signalled" ]; then
    reason="ended with code $1 on SIG$signalled, perhaps before it could save"
  elif [[ $(job_field PreemptTime) == 2* ]]; then
    reason="preempted, ended with code $1, perhaps before it could save"
  elif ! nodes_answer; then
    reason="ended with code $1, and not all of its nodes answer"
  else
    return 1
  fi
}

requeue() {
  if [ "$(job_field JobState)" != RUNNING ]; then
    say "$1; Slurm has ended the job already and decides what becomes of it"
  elif scontrol requeue "$SLURM_JOB_ID"; then
    say "$1; back in the queue, goes on from the newest checkpoint"
  else
    say "$1, but Slurm did not take the job back into the queue. Try: sbatch with the same line"
  fi
}

# run_and_requeue PROGRAM ARGUMENTS...: runs it on all ranks and ends this script with its exit code.
run_and_requeue() {
  describe_job
  stop_if_stalled
  local code reason watcher=''
  "${launch[@]}" "$@" &
  launcher_pid=$!
  [ -n "$signalled" ] && pass_signal_on
  if [ "$LAUNCHER" = mpirun ]; then
    watch_mpirun &
    watcher=$!
  fi
  wait_for "$launcher_pid"
  code=$?
  launcher_ended=yes
  [ -n "$watcher" ] && kill "$watcher" 2> /dev/null
  if reason_to_requeue "$code"; then
    requeue "$reason"
  else
    say "ended with code $code after $SECONDS s"
  fi
  exit "$code"
}
