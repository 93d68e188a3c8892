/**
 * The submission process, and PostgreSQL, are killed with -9 under load: every message with a 250 reply arrives, and a
 * message without one arrives at most once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { waitUntilDrained } from '#test/support/ledger.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { sendMessage, logInSmtp } from '#test/support/smtp-client.ts'
import { startSystem, printLogsOnFailure, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

interface SubmissionReply {
  readonly address: string
  reply: string
}

let crowds = 0

/** Clients that submit mail until they are stopped. With `isInsistent` they repeat mail that got no reply. */
class Programs {
  readonly sent: SubmissionReply[] = []
  readonly #port: number
  readonly #key: string
  readonly #isInsistent: boolean
  readonly #prefix = `c${++crowds}`
  #isStopped = false
  #sent = 0

  constructor(port: number, key: string, isInsistent: boolean) {
    this.#port = port
    this.#key = key
    this.#isInsistent = isInsistent
  }

  get accepted(): string[] {
    return this.sent.filter(({ reply }) => reply.startsWith('250 ')).map(({ address }) => address)
  }

  run(count: number): Promise<unknown> {
    return Promise.all(Array.from({ length: count }, () => this.#loop()))
  }

  stop(): void {
    this.#isStopped = true
  }

  async #loop(): Promise<void> {
    while (!this.#isStopped) {
      const message = { address: `${this.#prefix}-${++this.#sent}@receiver.example`, reply: '' }
      this.sent.push(message)
      do message.reply = await this.#send(message.address)
      while (this.#isInsistent && !message.reply.startsWith('250 '))
    }
  }

  async #send(address: string): Promise<string> {
    const key = this.#isInsistent ? `X-Idempotency-Key: ${address}\r\n` : ''
    const header = `From: shop@sender.example\r\nSubject: ${address}\r\nX-Priority-Tier: instant\r\n${key}`
    const content = `${header}\r\n${'text '.repeat(200)}`
    try {
      const connection = await logInSmtp(this.#port, this.#key)
      const reply = await sendMessage(connection, { from: 'app@client.test', to: address, content })
      connection.disconnect()
      return reply
    } catch {
      await sleep(20)
      return ''
    }
  }
}

describe('submission under faults', () => {
  let system: System
  let mx: Receiver
  before(async () => {
    mx = await startReceiver({})
    system = await startSystem({ env: { ROUTES: `*=smtp://127.0.0.1:${mx.port}` }, isCrashable: true })
    await system.roles.submission.start()
  })
  after(async () => {
    await system.stop()
    await mx.stop()
  })
  printLogsOnFailure(() => system)

  const copies = (address: string): number => mx.messages.filter(({ to }) => to.includes(address)).length
  const balance = ({ sent, accepted }: Programs): Record<string, string[]> => {
    const isAccepted = new Set(accepted)
    return {
      lost: accepted.filter((address) => copies(address) === 0),
      doubled: sent.filter(({ address }) => copies(address) > 1).map(({ address }) => address),
      // "451 4.3.0": PostgreSQL went away, perhaps after the commit
      uninvited: sent
        .filter(
          ({ address, reply }) =>
            /^[45]/.test(reply) && !reply.startsWith('451 4.3.0') && !isAccepted.has(address) && copies(address) > 0,
        )
        .map(({ address }) => address),
    }
  }
  const FAULTS: Readonly<Record<string, () => Promise<void>>> = {
    'kill -9 of the submission process': async () => {
      await system.roles.submission.kill()
      await system.roles.submission.start()
    },
    'a stop in order': async () => {
      await system.roles.submission.terminate()
      await system.roles.submission.start()
    },
    'kill -9 of PostgreSQL': async () => {
      await system.postgres.crash()
      await sleep(300)
      await system.postgres.restart()
    },
  }

  for (const [fault, strike] of Object.entries(FAULTS))
    it(`${fault}, twice: no message is lost or duplicated; with keys all arrive`, async () => {
      const { submissionPort } = system.config
      const programs = [
        new Programs(submissionPort, system.regular, false),
        new Programs(submissionPort, system.regular, true),
      ]
      const before = mx.messages.length
      const running = Promise.all(programs.map((one) => one.run(8)))
      try {
        for (let i = 0; i < 2; i++) {
          const begun = programs[0]?.accepted.length ?? 0
          await until(() => (programs[0]?.accepted.length ?? 0) > begun + 40)
          await strike()
        }
        const begun = programs[1]?.accepted.length ?? 0
        await until(() => (programs[1]?.accepted.length ?? 0) > begun + 20)
      } finally {
        programs.forEach((one) => one.stop())
      }
      await running
      await waitUntilDrained(system)
      assert.ok(mx.messages.length > before)
      for (const one of programs) assert.deepEqual(balance(one), { lost: [], doubled: [], uninvited: [] })
      assert.strictEqual(programs[1]?.accepted.length, programs[1]?.sent.length)
    })
})
