// Reads the ledger without mnemolog, and prints what happened to memories, one JSON object a line.
//
//     npm install kafkajs avsc
//     node ledger_consumer.mjs BROKER REGISTRY_URL MASTER_KEY_FILE [--follow]
//
// It follows docs/how-to/consume-changes-from-other-languages.md, section by section. Nothing is kept: each run begins
// with the first record.

import { createDecipheriv, createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const require = createRequire(resolve("package.json"));
const { Kafka, logLevel } = require("kafkajs");
const avro = require("avsc");
const [broker, registry, keyFile, follow] = process.argv.slice(2);
const masters = new Map(
  readFileSync(keyFile, "ascii").split(/[\s,]+/).filter(Boolean).map((text) => {
    const key = Buffer.from(text, "base64");
    const hash = createHash("sha256").update("mnemolog master key\0").update(key).digest("hex");
    return [hash.slice(0, 16), key];
  }),
);

// Schemas: a message names the one it was written with by the CRC-64-AVRO of its canonical form.
const EMPTY = 0xc15d213aa4d7a795n;
const TABLE = Array.from({ length: 256 }, (_, byte) => {
  let value = BigInt(byte);
  for (let bit = 0; bit < 8; bit += 1) value = (value >> 1n) ^ (value & 1n ? EMPTY : 0n);
  return value;
});

function fingerprint(type) {
  let value = EMPTY;
  for (const byte of Buffer.from(JSON.stringify(type.schema()))) {
    value = (value >> 8n) ^ TABLE[Number((value ^ BigInt(byte)) & 0xffn)];
  }
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes.toString("hex");
}

const writers = new Map();
for (const subject of await asked("/subjects")) {
  if (!/^mnemolog\.(memories|keys)-/.test(subject)) continue;
  for (const version of await asked(`/subjects/${subject}/versions`)) {
    const { schema } = await asked(`/subjects/${subject}/versions/${version}`);
    const type = avro.Type.forSchema(JSON.parse(schema), { wrapUnions: false });
    writers.set(fingerprint(type), { name: subject.split("-mnemolog.")[1], type });
  }
}

async function asked(path) {
  const answer = await fetch(registry + path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

function decoded(bytes) {
  const writer = writers.get(bytes.subarray(2, 10).toString("hex"));
  if (bytes.readUInt16BE() !== 0xc301 || !writer) throw new Error("of no schema in the registry");
  return { type: writer.name, ...writer.type.fromBuffer(bytes.subarray(10)) };
}

// Keys: data keys are wrapped by a master key, records are sealed with a data key.
function opened(key, nonce, sealed, associated) {
  const cipher = createDecipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(associated);
  cipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()]);
}

const dataKeys = new Map();
function learnKey({ key: id, value }) {
  const name = id.toString("hex");
  if (!value?.length) return dataKeys.set(name, null); // destroyed, and never known again
  if (dataKeys.get(name) === null) return undefined;
  const { kek_id: master, wrapped } = decoded(value);
  const associated = Buffer.concat([Buffer.from("mnemolog data key\0"), id, Buffer.from(master)]);
  if (!masters.has(master)) throw new Error(`the master key ${master} was not given`);
  const clear = opened(masters.get(master), wrapped.subarray(0, 12), wrapped.subarray(12), associated);
  return dataKeys.set(name, clear.subarray(0, 32));
}

function unsealed(place, value) {
  if (value.readUInt16BE() !== 0xc302) return value; // ENCRYPTION=off
  const key = dataKeys.get(value.subarray(2, 10).toString("hex"));
  if (!key) return null;
  const head = Buffer.concat([value.subarray(0, 10), Buffer.from(place)]);
  const clear = opened(key, value.subarray(10, 22), value.subarray(22), head);
  const length = clear.readUInt16BE();
  return clear.subarray(2 + (length === 0xffff ? 0 : length));
}

// Replacements: what is left of a record whose key was destroyed when one memory was erased.
const replacements = new Map();
function learnReplacement({ key, value }) {
  const [, place, id] = /^(.*)\/([0-9a-f]{16})$/.exec(key.toString());
  const found = replacements.get(place) ?? new Map();
  replacements.set(place, found);
  found.delete(id);
  if (value?.length) found.set(id, value);
}

function read(topic, partition, { offset, value }) {
  const clear = unsealed(topic, value);
  if (clear) return clear;
  const place = `${topic}/${partition}/${offset}`;
  const found = [...(replacements.get(place)?.values() ?? [])].reverse();
  return found.map((each) => unsealed(place, each)).find(Boolean) ?? null;
}

// Decisions: one counts where it makes its user's next version.
const users = new Map();
function counts(decision) {
  const { tenant, user_id: user } = decision.envelope;
  const name = `${tenant}/${user}`;
  const state = users.get(name) ?? { version: 0, offset: -1, item: null, part: 1, closed: true, items: new Set() };
  const next = decision.item_id === state.item && !state.closed ? state.part + 1 : 1;
  const fits =
    decision.item_type === "EraseUser"
      ? decision.version > state.version
      : decision.version === state.version + 1 && decision.part === next;
  const isNew = decision.part > 1 || (decision.item_offset > state.offset && !state.items.has(decision.item_id));
  if (!fits || !isNew) return false;
  state.items.add(decision.item_id);
  users.set(name, {
    version: decision.version,
    offset: decision.item_offset,
    item: decision.item_id,
    part: decision.part,
    closed: decision.last_part,
    items: state.items,
  });
  return true;
}

async function print(topic, partition, record) {
  const id = record.value.subarray(2, 10).toString("hex");
  for (let wait = 0; follow && wait < 50 && !dataKeys.has(id); wait += 1) {
    await new Promise((done) => setTimeout(done, 100)); // a key is in the log before what it seals
  }
  const clear = read(topic, partition, record);
  if (!clear) return; // erased
  const decision = decoded(clear);
  if (decision.envelope.tenant === "*" || !counts(decision)) return;
  for (const bytes of decision.events) {
    const event = decoded(bytes);
    const content = event.content?.data.toString();
    const { user_id: user } = event.envelope;
    console.log(JSON.stringify({ type: event.type, user, memory_id: event.memory_id, content, offset: record.offset }));
  }
}

// Reading: the keys and replacements to their ends, then the ledger.
const kafka = new Kafka({ brokers: [broker], logLevel: logLevel.ERROR });
const admin = kafka.admin();
await admin.connect();

async function each(topic, handle, stays) {
  const ends = new Map();
  for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
    if (BigInt(high) > BigInt(low)) ends.set(partition, BigInt(high));
  }
  if (!ends.size && !stays) return;
  const consumer = kafka.consumer({ groupId: `ledger-${topic}-${process.pid}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise((done, failed) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => failed(payload.error));
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { partition, lastOffset } }) => {
      if (BigInt(lastOffset) + 1n >= (ends.get(partition) ?? 0n)) ends.delete(partition);
      if (!ends.size) done();
    });
    consumer.run({ eachMessage: async ({ partition, message }) => handle(topic, partition, message) });
  });
  if (!stays) await consumer.disconnect();
}

await each("mnemolog.keys", (_, __, record) => learnKey(record), follow);
await each("mnemolog.replacements", (_, __, record) => learnReplacement(record), follow);
await each("mnemolog.memories", print, follow);
if (!follow) await admin.disconnect();
