import { assert } from 'chai'
import type { Db } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { createWorkspace, findWorkspace, listWorkspaces } from './workspaces.ts'

describe('workspaces', () => {
  let database: OpenDatabase
  let db: Db
  before(async () => {
    database = await openDatabase()
    db = database.db
  })
  after(() => database.close())

  it('have a key part that fits into API keys', async () => {
    const { id, keyPart } = await createWorkspace(db, { name: 'Shop', plan: 'launch' })
    assert.match(keyPart, /^[a-f0-9]{32}$/)
    const found = await findWorkspace(db, id)
    assert.deepEqual(found, {
      kind: 'found',
      workspace: {
        ...(found.kind === 'found' ? found.workspace : {}),
        id,
        keyPart,
        name: 'Shop',
        plan: 'launch',
        replyTo: null,
      },
    })
    assert.deepEqual(
      (await listWorkspaces(db, 10)).map((row) => row.id),
      [id],
    )
  })

  it('are found by id, key part and unique name', async () => {
    const { id, keyPart } = await createWorkspace(db, { name: 'Only one', plan: 'free' })
    for (const text of [id, id.toUpperCase(), keyPart, keyPart.toUpperCase(), 'Only one']) {
      const found = await findWorkspace(db, text)
      assert.strictEqual(found.kind === 'found' && found.workspace.id, id, text)
    }
  })

  it('are not found by a part of a name', async () => {
    const twins = [
      await createWorkspace(db, { name: 'Twin', plan: 'free' }),
      await createWorkspace(db, { name: 'Twin', plan: 'free' }),
    ]
    assert.deepEqual(await findWorkspace(db, 'Twin'), { kind: 'ambiguous', ids: twins.map((twin) => twin.id) })
    for (const text of ['', 'twin', newId(), 'f'.repeat(32), `' OR true --`])
      assert.deepEqual(await findWorkspace(db, text), { kind: 'none' }, text)
  })

  it('are not found by a name that equals the id of another', async () => {
    const victim = await createWorkspace(db, { name: 'Victim', plan: 'free' })
    await createWorkspace(db, { name: victim.id, plan: 'free' })
    await createWorkspace(db, { name: victim.keyPart, plan: 'free' })
    for (const text of [victim.id, victim.keyPart]) {
      const found = await findWorkspace(db, text)
      assert.strictEqual(found.kind === 'found' && found.workspace.name, 'Victim')
    }
  })
})
