// Asks a server everything that mem0's JavaScript client can ask, and says what failed. By hand:
//
//     npm install --prefix build/mem0-javascript mem0ai@3.3.1
//     mnemolog up
//     NODE_PATH=build/mem0-javascript/node_modules node tools/mem0_javascript.mjs http://127.0.0.1:8420

import { createRequire } from "node:module";
import assert from "node:assert/strict";

process.env.MEM0_TELEMETRY = "false";
const { MemoryClient } = createRequire(import.meta.url)("mem0ai");
const client = new MemoryClient({ apiKey: process.argv[3] ?? "any", host: process.argv[2] });
const userId = `user-${Date.now()}`;
const mine = { filters: { user_id: userId } };
let failed = 0;

async function tried(name, ask) {
  try {
    await ask();
    console.log("ok    ", name);
  } catch (error) {
    failed += 1;
    console.log("FAILED", name, error.message);
  }
}

let id;
await tried("ping", () => client.ping());
await tried("add as it is", async () => {
  const said = [{ role: "user", content: "Bob plays the cello." }];
  const added = await client.add(said, { userId, runId: "r1", appId: "web", metadata: { source: "js" }, infer: false });
  id = added.results[0].id;
});
await tried("add", async () => {
  const added = await client.add([{ role: "user", content: "My sister Nina lives in Oslo." }], { userId });
  assert.equal(added.status, "PENDING");
});
await tried("get", async () => assert.equal((await client.get(id)).runId, "r1"));
await tried("getAll", async () => assert.ok((await client.getAll({ ...mine, page: 1, pageSize: 10 })).count >= 1));
await tried("search", async () => assert.equal((await client.search("cello", { ...mine, topK: 1 })).results[0].id, id));
await tried("update", async () => assert.equal((await client.update(id, { text: "Bob plays the viola." })).id, id));
await tried("history", async () => assert.deepEqual((await client.history(id)).map((one) => one.event), ["ADD", "UPDATE"]));
await tried("feedback", () => client.feedback({ memoryId: id, feedback: "NEGATIVE", feedbackReason: "a guess" }));
await tried("users", async () => assert.ok((await client.users()).results.some((one) => one.name === userId)));
await tried("batchUpdate", () => client.batchUpdate([{ memoryId: id, text: "Bob plays the harp." }]));
await tried("batchDelete", () => client.batchDelete([id]));
await tried("project", async () => {
  await client.updateProject({ customInstructions: "Remember the garden.", customCategories: [{ habit: "what is weekly" }] });
  const shown = await client.getProject({ fields: ["custom_instructions", "custom_categories"] });
  assert.deepEqual(shown, { customInstructions: "Remember the garden.", customCategories: [{ habit: "what is weekly" }] });
  await client.updateProject({ customInstructions: "", customCategories: [] });
});
await tried("what is gone", () => assert.rejects(client.get(id), { name: "MemoryNotFoundError" }));
await tried("deleteAll", () => client.deleteAll({ userId }));
await tried("deleteUsers", () => client.deleteUsers({ userId }));
await tried("nobody left", async () => assert.equal((await client.getAll(mine)).count, 0));
process.exit(failed ? 1 : 0);
