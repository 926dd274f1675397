. "$CLONE/tests/e2e/pages/prepared/common.sh"
tutorial_study
rm party-c.key party-c.pem

start_hospitals() {
  for hospital in hospital-a hospital-b; do
    cofit party study.toml --key $hospital.key --state $hospital.party 2> $hospital.log &
  done
  parties_answer hospital-a hospital-b
}

stop_hospitals() {
  kill $(jobs -p)
  wait
}
