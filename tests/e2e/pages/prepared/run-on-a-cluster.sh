. "$CLONE/tests/e2e/pages/prepared/common.sh"
tutorial_study

# What the party of the cluster says of its workers.
on_workers() {
  grep -o ".*sends .* of shares to its workers" party-a.log | head -1
}
