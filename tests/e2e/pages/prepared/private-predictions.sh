. "$CLONE/tests/e2e/pages/prepared/common.sh"
tutorial_study

start_three() {
  start_parties party-a party-b party-c
}
