# Replaces this shell by Node running llmgw: no process stays between the caller and the role, so a signal sent to the
# pid that was started, SIGKILL too, reaches the role itself. Sourced by bin/llmgw.
ROOT=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$ROOT/scripts/find-node.sh"
# An agent waits most of its life. Without the optimizing compilers and with a small space for new objects it keeps 20 MiB
# less for that; a download costs it a sixth more of processor time, because all that is heavy in it is native code.
# What a control plane hears of each of its agents it keeps until it hears the next: too long for the space for new objects,
# so that its heap is mostly old news. Tidied up at two fifths over what is in use it takes little more than half the memory,
# for a few hundredths of a core with 5,000 agents, and for up to six times the processor time of a list of all of them.
# A router is a process for each core that it is to use. More than one thread behind it, to collect and to compile, would take
# turns with it on that core, 4 ms each, while events wait. And whoever has nothing to do for a while is made small by the
# runtime, so that all of the heap is looked through again and again in the first second of load after it: a request costs a
# tenth more then, and one in a hundred takes twice as long. A router keeps the memory that it had under load, up to four
# times what is in use.
case "${1:-}" in
agent) ECONOMY="--no-opt --no-maglev --optimize-for-size --max-semi-space-size=2" ;;
server) ECONOMY="--heap-growing-percent=40" ;;
router) ECONOMY="--v8-pool-size=1 --no-memory-reducer --heap-growing-percent=300 --min-semi-space-size=16" ;;
*) ECONOMY= ;;
esac
# shellcheck disable=SC2086
set -- "$NODE" --disable-warning=ExperimentalWarning $ECONOMY "$ROOT/scripts/boot.mjs" "$@"
[ $$ -ne 1 ] && exec "$@"
# The first process of a container without an init inherits every orphan in it, and has to ask for its end. Node asks for
# those of its own children only, so this shell stays, asks for all, and passes signals on.
"$@" <&0 &
role=$!
for signal in TERM INT HUP USR2; do trap "kill -$signal $role 2>/dev/null" $signal; done
# A signal ends the waiting, not the role.
while wait $role; status=$?; kill -0 $role 2>/dev/null; do :; done
exit $status
