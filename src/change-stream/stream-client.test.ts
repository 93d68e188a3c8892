import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { assert } from 'chai'
import { until } from '#test/support/until.ts'
import { ClientRegistry, HEARTBEAT_MS, HEARTBEAT_TICK_MS } from './client-registry.ts'
import type { TopicChanges } from './change-reader.ts'
import { createAccessChecks } from './access-checks.ts'
import { MAX_UNREAD, StreamClient } from './stream-client.ts'
import { encodeFrame, type EncodedFrame } from './stream-frames.ts'
import { createStreamSlots } from './stream-limits.ts'
import { selectChanged } from './samples.ts'
import { ROLES } from '#src/people/roles.ts'
import { mayReadTopic, type ChangeTopic } from './topics.ts'

const NOW = { history: 'aaaaaaaa', atMs: 1_700_000_000_000, snapshot: '10:10:' }

interface ClientTest {
  readonly workspaceId?: string
  readonly credential?: string
  readonly onClose?: () => void
}

function createClient(
  topics: readonly ChangeTopic[],
  { workspaceId = 'w', credential = 'k', onClose = () => undefined }: ClientTest = {},
): StreamClient {
  return new StreamClient({ workspaceId, topics: new Set(topics), credential, endsAt: Infinity, onClose })
}

const SIZED = (bytes: number): EncodedFrame => encodeFrame('x'.repeat(bytes))

const changeOf = (workspaceId: string, topic: ChangeTopic, id: string): TopicChanges => ({
  workspaceId,
  topic,
  changes: [{ id, change: 'update' }],
  hasMore: false,
})

describe('clients of the stream of changes', () => {
  let server: Server
  const sockets: Socket[] = []
  before(async () => {
    server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()))
  after(() => void server.close())

  /** Both ends of a connection. */
  async function openConnection(): Promise<{ readonly near: Socket; readonly far: Socket }> {
    const accepted = once(server, 'connection') as Promise<[Socket]>
    const far = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [near] = await accepted
    sockets.push(near, far)
    for (const socket of [near, far]) socket.on('error', () => undefined)
    return { near, far }
  }
  interface ReadClient {
    readonly text: string
    readonly isEnded: boolean
  }
  /** What a client that reads everything gets. */
  async function attach(client: StreamClient, isChunked = false): Promise<ReadClient> {
    const { near, far } = await openConnection()
    const read = { text: '', isEnded: false }
    far.setEncoding('utf8').on('data', (chunk: string) => (read.text += chunk))
    far.once('end', () => (read.isEnded = true))
    client.attach(near, isChunked)
    return read
  }
  /** Clients of a registry that have begun. */
  async function join(registry: ClientRegistry, clients: readonly StreamClient[]): Promise<ReadClient[]> {
    const reads: ReadClient[] = []
    for (const client of clients) {
      registry.add(client, NOW)
      client.begin('-')
      reads.push(await attach(client))
    }
    return reads
  }

  it('get what was held back after their first frame, in order', async () => {
    const client = createClient(['messages'])
    client.send(encodeFrame('2'))
    const read = await attach(client)
    client.send(encodeFrame('3'))
    client.begin('1')
    client.send(encodeFrame('4'))
    client.end('5')
    client.send(encodeFrame('6'))
    client.end('7')
    await until(() => client.isClosed && read.isEnded)
    assert.strictEqual(read.text, '12345')
  })

  it('get what was held back before they had a connection, in chunks', async () => {
    const client = createClient(['messages'])
    client.begin('ready ä')
    client.send(encodeFrame('change'))
    const read = await attach(client, true)
    client.end('end')
    await until(() => client.isClosed && read.isEnded)
    assert.strictEqual(read.text, '8\r\nready ä\r\n6\r\nchange\r\n3\r\nend\r\n0\r\n\r\n')
  })

  it('get only their last frame if they end before they begin', async () => {
    const client = createClient(['messages'])
    client.send(encodeFrame('1'))
    client.end('closed')
    client.begin('ready')
    const read = await attach(client)
    await until(() => client.isClosed && read.isEnded)
    assert.strictEqual(read.text, 'closed')
  })

  it('close once: when they leave, are destroyed, or had left before', async () => {
    const closed: string[] = []
    const clientOf = (name: string): StreamClient => createClient([], { onClose: () => closed.push(name) })
    const [leaves, destroyed, left, unattached] = ['leaves', 'destroyed', 'left', 'unattached'].map(clientOf)
    const { near, far } = await openConnection()
    leaves?.attach(near, true)
    far.destroy()
    await until(() => closed.includes('leaves'))
    await attach(destroyed as StreamClient)
    destroyed?.destroy()
    destroyed?.destroy()
    left?.attach(near, true)
    unattached?.destroy()
    unattached?.send(encodeFrame('x'))
    unattached?.end('x')
    await turn()
    assert.deepEqual(closed, ['leaves', 'destroyed', 'left', 'unattached'])
  })

  it('are disconnected when they do not read, with bounded memory', async () => {
    const client = createClient(['messages'])
    const { near, far } = await openConnection()
    far.pause()
    client.attach(near, true)
    client.begin('x')
    let most = 0
    while (!client.isClosed) {
      client.send(SIZED(10_000))
      most = Math.max(most, near.writableLength)
      await turn()
    }
    assert.isTrue(near.destroyed)
    assert.isAtMost(most, MAX_UNREAD + 100)
  })

  it('are disconnected when too much happens before they begin', () => {
    const client = createClient(['messages'])
    for (let i = 0; i < 70; i++) client.send(SIZED(1000))
    assert.isTrue(client.isClosed)
  })

  it('get a first frame of any size, and what was held back behind it', async () => {
    const client = createClient(['messages'])
    client.send(SIZED(MAX_UNREAD - 1))
    client.begin('x'.repeat(2 * MAX_UNREAD))
    const read = await attach(client)
    await until(() => read.text.length === 3 * MAX_UNREAD - 1)
    assert.isFalse(client.isClosed)
  })

  it('get the changes of their workspace and topics only, with one id at the end', async () => {
    const registry = new ClientRegistry()
    const clients = [
      createClient(['messages', 'domains']),
      createClient(['domains']),
      createClient(['templates']),
      createClient(['messages', 'domains'], { workspaceId: 'other' }),
    ]
    const reads = await join(registry, clients)
    registry.publish([changeOf('w', 'messages', 'em_1'), changeOf('w', 'domains', 'd1')])
    clients.forEach((client) => client.end('.'))
    await until(() => reads.every(({ isEnded }) => isEnded))
    const domain = 'event: domains\ndata: {"changes":[{"id":"d1","change":"update"}],"has_more":false}\n'
    const message = 'event: messages\ndata: {"changes":[{"id":"em_1","change":"update"}],"has_more":false}\n\n'
    const id = 'id: aaaaaaaa.1700000000000.10.10.\n\n'
    assert.deepEqual(
      reads.map(({ text }) => text),
      [message + domain + id, domain + id, '', ''].map((text) => `-${text}.`),
    )
    clients.forEach((client) => registry.remove(client))
    assert.deepEqual([registry.workspaces.size, registry.credentials.size], [0, 0])
  })

  it('get one heartbeat in each interval', async () => {
    const registry = new ClientRegistry()
    const clients = Array.from({ length: 100 }, () => createClient(['messages']))
    const reads = await join(registry, clients)
    for (let ms = 0; ms < HEARTBEAT_MS; ms += HEARTBEAT_TICK_MS) registry.beat()
    clients.forEach((client) => client.end('.'))
    await until(() => reads.every(({ isEnded }) => isEnded))
    for (const { text } of reads) assert.lengthOf(text.match(/event: heartbeat/g) ?? [], 1)
  })

  it('end when their credential does, and stay while that is unknown', async () => {
    const registry = new ClientRegistry()
    const checks = createAccessChecks(registry)
    const [gone, narrowed, unknown] = [
      createClient(['messages'], { credential: 'gone' }),
      createClient(['domains'], { credential: 'narrowed' }),
      createClient(['messages'], { credential: 'unknown' }),
    ]
    const reads = await join(registry, [gone, narrowed, unknown])
    checks.add({ holder: 'a', credential: 'gone', check: () => Promise.resolve(null) })
    checks.add({ holder: 'a', credential: 'narrowed', check: () => Promise.resolve((topic) => topic === 'messages') })
    checks.add({ holder: 'a', credential: 'unknown', check: () => Promise.reject(new Error('away')) })
    checks.run()
    await until(() => reads[0]?.isEnded === true && reads[1]?.isEnded === true)
    assert.isFalse(unknown.isClosed)
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
