import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import {
  forgetNode,
  listNodes,
  pruneNodes,
  removeProcess,
  reportProcess,
  setDraining,
  type NodeState,
} from './nodes.ts'

const REPORT = { roles: ['outbound'], version: '1.2.3', sources: ['a'], isDrained: false }

describe('nodes', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  afterEach(() => ctx.db.query('TRUNCATE nodes, node_processes, leases'))

  const age = (seconds: number): Promise<unknown> =>
    ctx.db.query(`UPDATE node_processes SET seen_at = now() - $1 * interval '1 second'`, [seconds])
  const stateOf = async (name: string): Promise<NodeState | undefined> => (await listNodes(ctx.db, name))[0]?.state

  it('have the processes that reported, with what they reported last', async () => {
    const id = newId()
    await reportProcess(ctx.db, { ...REPORT, id, node: 'one' })
    await reportProcess(ctx.db, { ...REPORT, id, node: 'one', sources: ['b'] })
    await reportProcess(ctx.db, { ...REPORT, id: newId(), node: 'two', roles: ['api'] })
    const [one, two] = await listNodes(ctx.db)
    assert.deepInclude(one, { name: 'one', state: 'running', leased: 0 })
    assert.strictEqual(one?.processes.length, 1)
    assert.deepInclude(one?.processes[0], {
      id,
      version: '1.2.3',
      roles: ['outbound'],
      sources: ['b'],
      isSilent: false,
    })
    assert.deepEqual(two?.processes[0]?.roles, ['api'])
    await removeProcess(ctx.db, id)
    assert.strictEqual(await stateOf('one'), 'silent')
  })

  const STATES: readonly (readonly [
    what: string,
    drained: readonly boolean[],
    silent: number,
    draining: boolean,
    NodeState,
  ])[] = [
    ['with a process', [false], 0, false, 'running'],
    ['whose processes are silent', [false], 16, false, 'silent'],
    ['with a process that must still stop', [true, false], 0, true, 'draining'],
    ['whose processes have stopped all', [true, true], 0, true, 'drained'],
    ['that is drained and off', [false], 16, true, 'drained'],
  ]
  for (const [what, drained, silent, isDraining, expected] of STATES)
    it(`${what}: ${expected}`, async () => {
      const processes = drained.map((isDrained) => ({ ...REPORT, id: newId(), node: 'one', isDrained }))
      for (const one of processes) await reportProcess(ctx.db, { ...one, isDrained: false })
      await setDraining(ctx.db, 'one', isDraining)
      for (const one of processes) await reportProcess(ctx.db, one)
      await age(silent)
      assert.strictEqual(await stateOf('one'), expected)
    })

  it('are not drained by what was reported in an earlier drain', async () => {
    const report = { ...REPORT, id: newId(), node: 'one' }
    await reportProcess(ctx.db, report)
    await setDraining(ctx.db, 'one', true)
    await reportProcess(ctx.db, { ...report, isDrained: true })
    assert.strictEqual(await stateOf('one'), 'drained')
    await setDraining(ctx.db, 'one', true)
    assert.strictEqual(await stateOf('one'), 'drained', 'a repetition changes nothing')
    await setDraining(ctx.db, 'one', false)
    // the process has not heard of it yet
    await reportProcess(ctx.db, { ...report, isDrained: true })
    await setDraining(ctx.db, 'one', true)
    assert.strictEqual(await stateOf('one'), 'draining')
  })

  it('report to their processes that they are being drained', async () => {
    const id = newId()
    await reportProcess(ctx.db, { ...REPORT, id, node: 'one' })
    assert.isTrue(await setDraining(ctx.db, 'one', true))
    const isDraining = async (): Promise<boolean> =>
      (await reportProcess(ctx.db, { ...REPORT, id, node: 'one' })).isDraining
    assert.isTrue(await isDraining())
    assert.isTrue(await setDraining(ctx.db, 'one', false))
    assert.isFalse(await isDraining())
    assert.isFalse(await setDraining(ctx.db, 'other', true))
  })

  it('report the sources of the other processes that send now', async () => {
    const id = newId()
    const others = async (): Promise<unknown> =>
      (await reportProcess(ctx.db, { ...REPORT, id, node: 'one' })).otherSources
    assert.deepEqual(await others(), [])
    await reportProcess(ctx.db, { ...REPORT, id: newId(), node: 'two', sources: ['b', 'c'] })
    await reportProcess(ctx.db, { ...REPORT, id: newId(), node: 'two', roles: ['submission'], sources: [] })
    assert.deepEqual(await others(), [['b', 'c']])
    await setDraining(ctx.db, 'two', true)
    assert.deepEqual(await others(), [], 'a node that is drained sends nothing')
    await setDraining(ctx.db, 'two', false)
    await age(16)
    assert.deepEqual(await others(), [], 'nor does one that is silent')
  })

  it('are forgotten, with their leases, unless a process reports', async () => {
    await reportProcess(ctx.db, { ...REPORT, id: newId(), node: 'one' })
    await ctx.db.query(sql`
      INSERT INTO leases (version, machine, pid, expires_at, node, journal)
      VALUES ('0.2.0', 'm', 1, now() + interval '1 minute', 'one', 'a.journal'),
        ('0.2.0', 'm', 2, now(), 'two', 'b.journal')
    `)
    const leases = async (): Promise<unknown[]> =>
      (await ctx.db.query('SELECT node, is_declared_dead AS dead, journal FROM leases ORDER BY node')).rows
    assert.strictEqual(await forgetNode(ctx.db, 'one'), 'running')
    assert.deepInclude(await leases(), { node: 'one', dead: false, journal: 'a.journal' })
    await age(16)
    assert.strictEqual(await forgetNode(ctx.db, 'one'), 'forgotten')
    assert.deepEqual(await leases(), [
      { node: 'one', dead: true, journal: null },
      { node: 'two', dead: false, journal: 'b.journal' },
    ])
    assert.deepEqual(await listNodes(ctx.db), [])
    assert.strictEqual(await forgetNode(ctx.db, 'one'), 'not-found')
  })

  it('are removed after a day without a process, unless they are being drained', async () => {
    for (const node of ['gone', 'kept', 'new']) await reportProcess(ctx.db, { ...REPORT, id: newId(), node })
    await setDraining(ctx.db, 'kept', true)
    await age(25 * 3600)
    await ctx.db.query(`UPDATE nodes SET created_at = now() - interval '25 hours' WHERE name <> 'new'`)
    await pruneNodes(ctx.db)
    assert.deepEqual(
      (await listNodes(ctx.db)).map(({ name, processes }) => [name, processes.length]),
      [
        ['kept', 0],
        ['new', 0],
      ],
    )
  })
})
