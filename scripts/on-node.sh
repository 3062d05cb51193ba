# Runs a script on the Node that llmgw runs on: sh scripts/on-node.sh SCRIPT [ARGUMENT…]
ROOT=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$ROOT/scripts/find-node.sh"
# Children that say `node` get the same one.
PATH="$(dirname "$NODE"):$PATH"
export PATH
exec "$NODE" --disable-warning=ExperimentalWarning "$@"
