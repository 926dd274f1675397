. "$CLONE/tests/e2e/pages/prepared/common.sh"
tutorial_study
cp a.csv patients.csv
sed 's/,/;/g; s/\./,/g' a.csv > from-excel.csv
start_parties party-a party-b party-c

# The same patients, but each hospital has some of the columns, and two rows that the other lacks.
begin_vertical() {
  kill $(jobs -p)  # whatever their numbers are by now
  wait
  mkdir ../vertical
  cp study.toml ./*.key ./*.pem ../vertical
  python - <<'END'
import csv
import re
from pathlib import Path

text = re.sub(r"\[\[owners\]\].*?(?=\[\[analysts)", "", Path("study.toml").read_text(), flags=re.DOTALL)
text = text.replace('partition = "horizontal"', 'partition = "vertical"\nunmatched = "drop"\nrows = 700')
columns = {"a": ["age", "pressure"], "b": ["smoker", "pain"]}
for name, held in columns.items():
    text += f'\n[[owners]]\nname = "hospital-{name}"\ncertificate = "hospital-{name}.pem"\ncolumns = {held}\n'
text += "holds_label = true\n"
Path("../vertical/study.toml").write_text(text.replace("'", '"'))
rows = list(csv.DictReader(Path("a.csv").open()))
for name, these, more in (("a", rows[:702], []), ("b", rows[2:704][::-1], ["disease"])):
    these = [row for row in these if row in rows[:702 if name == "a" else 704]]
    with Path(f"../vertical/{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["patient", *columns[name], *more], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(these)
END
  cd ../vertical
  start_parties party-a party-b party-c
  cofit align --new-secret rows.secret
}
