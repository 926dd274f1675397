. "$CLONE/tests/e2e/pages/prepared/common.sh"

# A new folder for the second study, with the keys and the patients of the first.
begin_anew() {
  mkdir ../two-parties
  cp study.toml ./*.key ./*.pem ./*.csv ../two-parties
  cd ../two-parties
  cofit keygen dealer
}

# "The rest stays as it was", after the dealer has started.
the_rest() {
  start_parties party-a party-b > /dev/null
  local yes=""
  if cofit contribute --help | grep -q -e --yes; then yes=--yes; fi
  for owner in a b; do
    cofit contribute study.toml --owner hospital-$owner --key hospital-$owner.key --data $owner.csv $yes
  done
  cofit status study.toml --key office.key --watch
  cofit model study.toml --key office.key --out model.json
  cofit evaluate model.json test.csv
  kill $(jobs -p)  # whatever their numbers are by now
  wait
}
