. "$CLONE/tests/e2e/pages/prepared/common.sh"
tutorial_study
cp test.csv public-sample.csv
