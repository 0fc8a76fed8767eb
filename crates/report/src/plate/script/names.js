// Display names of samples.

const namesText = () => all.map((sample) => `${data.samples[sample]}\t${nameOf(sample)}\n`).join("");
const fillNames = () => (byId("names").value = namesText());
const applyNames = () => {
  const samples = new Map(data.samples.map((name, sample) => [name, sample]));
  const lines = byId("names").value.split("\n").filter((line) => line.trim()).map((line) => line.split("\t"));
  const [known, unknown] = [true, false].map((isKnown) => lines.filter(([name]) => samples.has(name) === isKnown));
  rename(known.map(([name, display]) => [samples.get(name), display?.trim()]));
  const shown = all.map(nameOf);
  const repeated = shown.find((name, sample) => shown.indexOf(name) < sample);
  const notes = [];
  if (unknown.length > 0) notes.push(`No sample has the name ${unknown[0][0]}${unknown.length > 1 ? `; ${unknown.length - 1} other lines have unknown names` : ""}.`);
  if (repeated !== undefined) notes.push(`Several samples have the display name ${repeated}.`);
  byId("names-note").textContent = notes.join(" ");
};
