. "$CLONE/tests/e2e/pages/prepared/common.sh"
tutorial_study

start_five() {
  start_parties party-a party-b party-c party-d party-e
}

# The parties of the first study are not needed any more.
begin_anew() {
  kill $(jobs -p)
  wait
}
