# Replaces this shell by Node running llmgw: no process stays between the caller and the role, so a signal sent to the
# pid that was started, SIGKILL too, reaches the role itself. Sourced by bin/llmgw.
ROOT=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$ROOT/scripts/find-node.sh"
exec "$NODE" --disable-warning=ExperimentalWarning "$ROOT/src/main.ts" "$@"
