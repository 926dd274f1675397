. "$CLONE/tests/e2e/pages/prepared/common.sh"
tutorial_study
head -41 a.csv > new.csv

start_three() {
  start_parties party-a party-b party-c
}
