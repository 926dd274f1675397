. "$CLONE/tests/e2e/pages/prepared/common.sh"
tutorial_study
cp test.csv labelled.csv
head -151 test.csv > new.csv
python - <<'END'
import pyarrow.csv as csv
import pyarrow.parquet as parquet

table = csv.read_csv("test.csv")
public = table.drop_columns(["disease"])
parquet.write_table(public, "public-patients.parquet")
csv.write_csv(public, "public-patients.csv")
END

# What the page shows: one line more under [data].
name_reference() {
  sed -i 's/^\[data\]$/[data]\nreference = "public-patients.parquet"/' study.toml
  grep -q reference study.toml
}
