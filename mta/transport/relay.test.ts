/** Delivers one message through an account, against scripted servers: the outcome, paused accounts and the record. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { assert } from 'chai'
import { cidrs } from '#config/settings/readers.ts'
import { chooseTimeouts } from '#mta/smtp/timeouts.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { Account } from '#src/providers/accounts.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { createRelayTransport, type RelayTransport } from './relay.ts'

const PASSWORD = 'hunter22-hunter22'
const PLAIN = Buffer.from(`\0me\0${PASSWORD}`).toString('base64')
const MAIL = {
  from: 'me@x.example',
  to: 'a@b.example',
  data: Buffer.from('Subject: x\r\n\r\nHello\r\n'),
  smtputf8: false,
}

/** Reply to a verb, or what happens instead. */
type Script = Readonly<Record<string, string | ((socket: Socket, line: string) => void)>>

const NICE: Script = {
  EHLO: '250-hello\r\n250 AUTH PLAIN',
  AUTH: '235 yes',
  MAIL: '250 ok',
  RCPT: '250 ok',
  DATA: '354 go',
  '.': '250 2.0.0 taken',
  RSET: '250 ok',
  QUIT: '221 bye',
}

describe('relay', () => {
  let server: Server
  let relay: RelayTransport
  let script: Script
  let pauses: string[]
  let connections: number
  const sockets = new Set<Socket>()
  beforeEach(async () => {
    script = NICE
    pauses = []
    connections = 0
    server = createServer((socket) => {
      connections++
      sockets.add(socket)
      socket.on('error', () => undefined).write('220 hello\r\n')
      let isInData = false
      socket.on('data', (chunk) => {
        for (const line of chunk.toString().split('\r\n').slice(0, -1)) {
          if (isInData && line !== '.') continue
          const verb = line.split(' ')[0] ?? ''
          isInData = verb === 'DATA'
          const answer = { ...NICE, ...script }[verb]
          if (typeof answer === 'function') answer(socket, line)
          else if (answer !== undefined) socket.write(`${answer}\r\n`)
        }
      })
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    relay = createRelayTransport({
      settings: {
        ehloName: 'us.example',
        tls: 'never',
        rejectUnauthorized: true,
        timeouts: chooseTimeouts({ quit: 100, auth: 2000 }),
      },
      lookup: () => assert.fail('an address needs no look-up'),
      allowed: cidrs('127.0.0.0/8'),
      credential: () =>
        Promise.resolve({ kind: 'credential', credential: { kind: 'password', username: 'me', password: PASSWORD } }),
      breaker: createCircuitBreaker(() => Date.now(), 0.001),
      now: () => Date.now(),
      scale: 1,
      pause: (_, reason) => Promise.resolve(pauses.push(reason)),
    })
  })
  afterEach(async () => {
    await relay.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  const account = (): Account => ({
    id: '019a9a00-0000-7000-8000-0000000000aa',
    workspaceId: '',
    kind: 'smtp',
    provider: null,
    name: 'x',
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    security: 'none',
    username: 'me',
    addresses: ['me@x.example'],
    generation: 1,
    accessExpiresAt: null,
    state: 'active',
    pausedReason: null,
    pausedAt: null,
    verifiedAt: null,
    limits: { connections: 1, messagesPerConnection: 3, messagesPerMinute: null },
    createdAt: new Date(0),
    updatedAt: new Date(0),
  })
  let accepted: Attempt[] = []
  const deliver = (): Promise<Attempt | null> => {
    accepted = []
    return relay.deliver({ account: account(), mail: MAIL, onAccepted: (attempt) => accepted.push(attempt) })
  }

  interface Case {
    readonly script: Script
    readonly outcome: string
    readonly isPaused?: true
  }
  const CASES: Readonly<Record<string, Case>> = {
    'all is well': { script: {}, outcome: 'relayed' },
    'the sign-in is refused': {
      script: { AUTH: '535 5.7.8 no' },
      outcome: 'deferred account-refused no try',
      isPaused: true,
    },
    'the sign-in is not possible now': { script: { AUTH: '454 4.7.0 later' }, outcome: 'deferred auth-refused no try' },
    'the server ends at the sign-in': { script: { AUTH: '421 4.3.2 bye' }, outcome: 'deferred auth-refused no try' },
    'no way to sign in': { script: { EHLO: '250 hello' }, outcome: 'deferred auth-failed no try' },
    'signed in, and not well enough': {
      script: { MAIL: '530 5.7.0 Authentication Required' },
      outcome: 'deferred account-refused no try',
      isPaused: true,
    },
    "the day's share is sent": {
      script: { '.': '550 5.4.5 Daily user sending limit exceeded' },
      outcome: 'deferred account-quota no try',
    },
    "the day's recipients are used": {
      script: { RCPT: "550 5.1.90 Your message can't be sent because you've reached your daily limit for recipients" },
      outcome: 'deferred account-quota no try',
    },
    'the share of the mailbox is sent': {
      script: { '.': '554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException' },
      outcome: 'deferred account-quota no try',
    },
    'the sending limit of some provider': {
      script: { MAIL: '550 Hourly sending quota exceeded' },
      outcome: 'deferred account-quota no try',
    },
    'a mailbox that is full': { script: { RCPT: '552 5.2.2 Quota exceeded' }, outcome: 'bounced mailbox-full soft' },
    'nobody there': { script: { RCPT: '550 5.1.1 No such user' }, outcome: 'bounced no-such-user hard' },
    later: { script: { RCPT: '451 4.7.1 Greylisted' }, outcome: 'deferred greylisted a try' },
    'lost before the dot': { script: { DATA: (socket) => socket.destroy() }, outcome: 'deferred link-lost no try' },
    'lost after the dot': { script: { '.': (socket) => socket.destroy() }, outcome: 'unknown lost-after-dot' },
  }
  for (const [name, one] of Object.entries(CASES))
    it(`${name}: ${one.outcome}`, async () => {
      script = one.script
      const attempt = await deliver()
      assert.strictEqual(sayOf(attempt), one.outcome, attempt?.conversation)
      assert.strictEqual(pauses.length, one.isPaused === true ? 1 : 0)
      assert.ok(!attempt?.conversation.includes(PLAIN))
      const isAccepted = attempt?.outcome.kind === 'relayed'
      assert.deepEqual(accepted, isAccepted ? [{ ...attempt, durationMs: accepted[0]?.durationMs }] : [])
    })

  it('reuses sessions up to their message limit; a session that died meanwhile costs no attempt', async () => {
    for (let i = 0; i < 4; i++) assert.strictEqual(sayOf(await deliver()), 'relayed')
    assert.strictEqual(connections, 2)
    for (const socket of sockets) socket.end('421 4.4.2 idle\r\n')
    assert.strictEqual(sayOf(await deliver()), 'relayed')
    assert.strictEqual(connections, 3)
  })
  it('redacts a password that the server repeats in the record, the reason and the pause', async () => {
    script = {
      AUTH: (socket, line) => {
        const credentials = Buffer.from(line.slice(11), 'base64').toString().replaceAll('\0', ' ')
        socket.write(`535-5.7.8 not with ${line}\r\n535 5.7.8 nor ${credentials}\r\n`)
      },
    }
    const attempt = await deliver()
    assert.match(pauses[0] ?? '', /refuses the credentials of me: 535/)
    const reported = JSON.stringify([attempt, pauses])
    for (const secret of [PASSWORD, PLAIN]) assert.ok(!reported.includes(secret), reported)
  })
  it('redacts a password that the server repeats when it accepts the message', async () => {
    script = { '.': `250 2.0.0 taken from ${PASSWORD}` }
    const attempt = await deliver()
    assert.deepEqual(accepted, [{ ...attempt, durationMs: accepted[0]?.durationMs }])
    assert.ok(!JSON.stringify(accepted).includes(PASSWORD))
  })
  it('has no attempt to report when it is aborted before the transaction', async () => {
    script = { AUTH: () => relay.abort() }
    assert.strictEqual(await deliver(), null)
    assert.strictEqual(await deliver(), null)
  })
  it('has an unknown outcome when it is aborted after the final dot', async () => {
    script = { '.': () => relay.abort() }
    assert.strictEqual(sayOf(await deliver()), 'unknown lost-after-dot')
  })
})

function sayOf(attempt: Attempt | null): string {
  if (attempt === null) return 'nothing'
  const { outcome } = attempt
  if (outcome.kind === 'deferred') return `deferred ${outcome.reason} ${outcome.isCounted ? 'a try' : 'no try'}`
  if (outcome.kind === 'bounced') return `bounced ${outcome.reason} ${outcome.isHard ? 'hard' : 'soft'}`
  return 'reason' in outcome ? `${outcome.kind} ${outcome.reason}` : outcome.kind
}
