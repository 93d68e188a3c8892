import { PassThrough, pipeline } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { assert } from 'chai'
import { until } from '#test/support/until.ts'
import { ClientRegistry, HEARTBEAT_MS, HEARTBEAT_TICK_MS } from './client-registry.ts'
import type { TopicChanges } from './change-reader.ts'
import { createAccessChecks } from './access-checks.ts'
import { MAX_UNREAD, StreamClient } from './stream-client.ts'
import { createStreamSlots } from './stream-limits.ts'
import { selectChanged } from './samples.ts'
import { ROLES } from '#src/people/roles.ts'
import { mayReadTopic, type ChangeTopic } from './topics.ts'

const NOW = { history: 'aaaaaaaa', atMs: 1_700_000_000_000, snapshot: '10:10:' }

function createClient(topics: readonly ChangeTopic[], workspaceId = 'w', credential = 'k'): StreamClient {
  return new StreamClient({ workspaceId, topics: new Set(topics), credential, endsAt: Infinity })
}

/** What a client that reads everything gets. */
function readAll(client: StreamClient): { readonly text: string } {
  const read = { text: '' }
  client.on('data', (chunk: Buffer) => (read.text += chunk.toString()))
  return read
}

const changeOf = (workspaceId: string, topic: ChangeTopic, id: string): TopicChanges => ({
  workspaceId,
  topic,
  changes: [{ id, change: 'update' }],
  hasMore: false,
})

describe('clients of the stream of changes', () => {
  it('get what was held back after their first frame, in order', async () => {
    const client = createClient(['messages'])
    const read = readAll(client)
    client.send(Buffer.from('2'))
    client.send(Buffer.from('3'))
    client.begin('1')
    client.send(Buffer.from('4'))
    client.end('5')
    client.send(Buffer.from('6'))
    client.end('7')
    await until(() => client.closed)
    assert.strictEqual(read.text, '12345')
  })

  it('are disconnected when they do not read, with bounded memory', async () => {
    const client = createClient(['messages'])
    const response = new PassThrough({ highWaterMark: 1024 })
    pipeline(client, response, () => undefined)
    client.begin('x')
    let most = 0
    for (let i = 0; i < 1000 && !client.destroyed; i++) {
      client.send(Buffer.alloc(1000))
      most = Math.max(most, client.readableLength)
      await turn()
    }
    assert.isTrue(client.destroyed)
    assert.isAtMost(most, MAX_UNREAD)
    await until(() => response.destroyed)
  })

  it('are disconnected when too much happens before they begin', () => {
    const client = createClient(['messages'])
    for (let i = 0; i < 70; i++) client.send(Buffer.alloc(1000))
    assert.isTrue(client.destroyed)
  })

  it('get the changes of their workspace and topics only, with one id at the end', async () => {
    const registry = new ClientRegistry()
    const clients = [
      createClient(['messages', 'domains']),
      createClient(['domains']),
      createClient(['templates']),
      createClient(['messages', 'domains'], 'other'),
    ]
    const reads = clients.map((client) => {
      registry.add(client, NOW)
      client.begin('')
      return readAll(client)
    })
    registry.publish([changeOf('w', 'messages', 'em_1'), changeOf('w', 'domains', 'd1')])
    await turn()
    const domain = 'event: domains\ndata: {"changes":[{"id":"d1","change":"update"}],"has_more":false}\n'
    const message = 'event: messages\ndata: {"changes":[{"id":"em_1","change":"update"}],"has_more":false}\n\n'
    const id = 'id: aaaaaaaa.1700000000000.10.10.\n\n'
    assert.deepEqual(
      reads.map(({ text }) => text),
      [message + domain + id, domain + id, '', ''],
    )
    clients.forEach((client) => registry.remove(client))
    assert.deepEqual([registry.workspaces.size, registry.credentials.size], [0, 0])
  })

  it('get one heartbeat in each interval', async () => {
    const registry = new ClientRegistry()
    const reads = Array.from({ length: 100 }, () => {
      const client = createClient(['messages'])
      registry.add(client, NOW)
      client.begin('')
      return readAll(client)
    })
    for (let ms = 0; ms < HEARTBEAT_MS; ms += HEARTBEAT_TICK_MS) registry.beat()
    await turn()
    for (const { text } of reads) assert.lengthOf(text.match(/event: heartbeat/g) ?? [], 1)
  })

  it('end when their credential does, and stay while that is unknown', async () => {
    const registry = new ClientRegistry()
    const checks = createAccessChecks(registry)
    const [gone, narrowed, unknown] = [
      createClient(['messages'], 'w', 'gone'),
      createClient(['domains'], 'w', 'narrowed'),
      createClient(['messages'], 'w', 'unknown'),
    ]
    const reads = [gone, narrowed, unknown].map((client) => {
      registry.add(client, NOW)
      client.begin('')
      return readAll(client)
    })
    checks.add({ holder: 'a', credential: 'gone', check: () => Promise.resolve(null) })
    checks.add({ holder: 'a', credential: 'narrowed', check: () => Promise.resolve((topic) => topic === 'messages') })
    checks.add({ holder: 'a', credential: 'unknown', check: () => Promise.reject(new Error('away')) })
    checks.run()
    await until(() => gone.closed && narrowed.closed)
    assert.isFalse(unknown.closed)
    assert.deepEqual(
      reads.map(({ text }) => text.includes('event: closed')),
      [true, true, false],
    )
  })
})

describe('limits of streams', () => {
  it('name what is full, and a slot is released once', () => {
    const slots = createStreamSlots({ perCredential: 1, perAddress: 2, perWorkspace: 3, perProcess: 4 })
    const acquire = (holder: string, address: string, workspaceId: string): unknown =>
      slots.acquire({ holder, address, workspaceId })
    const first = slots.acquire({ holder: 'a', address: '1', workspaceId: 'w' })
    assert.strictEqual(acquire('a', '2', 'w'), 'perCredential')
    assert.isFunction(acquire('b', '1', 'w'))
    assert.strictEqual(acquire('c', '1', 'v'), 'perAddress')
    assert.isFunction(acquire('c', '2', 'w'))
    assert.strictEqual(acquire('d', '3', 'w'), 'perWorkspace')
    assert.isFunction(acquire('d', '3', 'v'))
    assert.strictEqual(acquire('e', '4', 'u'), 'perProcess')
    assert.strictEqual(slots.count, 4)
    if (typeof first === 'function') [first, first].forEach((release) => release())
    assert.strictEqual(slots.count, 3)
    assert.isFunction(acquire('a', '1', 'w'))
  })
})

describe('samples', () => {
  it('only report what changed', () => {
    const known = new Map<string, string>()
    const first = [changeOf('w', 'campaigns', 'c1'), changeOf('w', 'campaigns', 'c2')]
    assert.lengthOf(selectChanged(first, known), 2)
    assert.deepEqual(selectChanged(first, known), [])
    const next = { ...changeOf('w', 'campaigns', 'c1'), changes: [{ id: 'c1', change: 'progress', delivered: 1 }] }
    assert.deepEqual(selectChanged([next], known), [next])
    assert.strictEqual(known.size, 1)
  })
})

describe('readers of topics', () => {
  const viewer = ROLES.viewer
  const CASES: readonly [
    kind: string,
    scopes: readonly string[],
    permissions: readonly string[] | undefined,
    topic: ChangeTopic,
    may: boolean,
  ][] = [
    ['regular', [], undefined, 'messages', true],
    ['regular', ['domains:manage'], undefined, 'domains', false],
    ['admin', ['domains:manage'], undefined, 'domains', true],
    ['admin', [], undefined, 'domains', false],
    ['admin', ['domains:manage'], undefined, 'queue', false],
    ['admin', [], viewer, 'domains', true],
    ['admin', [], viewer, 'campaigns', true],
    ['admin', [], viewer, 'messages', true],
    ['admin', [], viewer, 'webhooks', false],
    ['admin', ['webhooks:manage'], viewer, 'webhooks', false],
    ['admin', [], ROLES.owner, 'queue', false],
  ]
  for (const [kind, scopes, permissions, topic, may] of CASES)
    it(`${permissions === undefined ? kind : 'a person'} with ${scopes.join() || 'no scope'}: ${topic}`, () =>
      assert.strictEqual(mayReadTopic({ kind, scopes, permissions }, topic), may))
})
