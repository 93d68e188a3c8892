/**
 * Receives a realistic mix of signed mail at the inbound port and sends each as a signed webhook to a receiver: real
 * PostgreSQL with fsync, Redis, DNS, SMTP and HTTP. Prints the rate from the first mail to the last webhook, and the
 * CPU of each process for one mail, from which the capacity of a machine follows. All mail must arrive.
 * Usage: node bench/inbound/main.ts [--mails N] [--connections N] [--seconds N]
 */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { childrenOf } from '#bench/harness/process-cpu.ts'
import { readUsage } from '#bench/harness/cpu.ts'
import { formatTable } from '#bench/table.ts'
import { connectSmtp } from '#test/support/smtp-connection.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { startSystem, type System } from '#test/support/system.ts'
import { startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts'
import { makeMail, type SigningKey } from './mails.ts'

const TARGET_RATE = 100
const CORES = 2
const WARM_UP = 100

const { values: given } = parseArgs({
  options: {
    mails: { type: 'string', default: '2000' },
    connections: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '120' },
  },
})
/** How long nothing may arrive: a busy machine is slow, which is no fault. */
const PATIENCE_MS = Number(given.seconds) * 1000
const pair = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const key: SigningKey = { domain: 'friend.example', selector: 's1', privateKey: pair.privateKey }
const dns = await startDns({})
const system = await startSystem({ env: { DNS_SERVERS: dns.server }, isCrashable: true })
const receiver = await startWebhookReceiver()
try {
  await setUp(system, dns, receiver)
  await sendAll(await makeMails(WARM_UP))
  await waitForWebhooks(WARM_UP)
  await measure(Number(given.mails))
} finally {
  await receiver.close()
  await system.stop()
  await dns.stop()
}

async function setUp(target: System, { zone }: TestDns, { url }: WebhookReceiver): Promise<void> {
  Object.assign(zone, {
    's1._domainkey.friend.example': { TXT: [`v=DKIM1; k=rsa; p=${pair.publicKey.toString('base64')}`] },
    'friend.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
    '_dmarc.friend.example': { TXT: ['v=DMARC1; p=reject'] },
  })
  const { domain, admin } = target
  await target.roles.inbound.start()
  const bodies = [
    ['/public/inbound/routes', { address: `*@${domain}` }],
    ['/public/webhooks', { url, events: ['email.received'] }],
  ] as const
  for (const [path, body] of bodies) {
    const { status } = await target.call('POST', path, { key: admin, body })
    if (status !== 201) throw new Error(`POST ${path}: ${status}`)
  }
  await new Promise((resolve) => setTimeout(resolve, 1000)) // the port knows routes for half a second
}

function makeMails(count: number): Promise<Buffer[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => makeMail(i, key)))
}

/** Each connection sends its share, one mail after the other. */
async function sendAll(mails: readonly Buffer[]): Promise<void> {
  const left = [...mails]
  await Promise.all(
    Array.from({ length: Number(given.connections) }, async () => {
      const connection = await connectSmtp(system.config.inboundPort)
      await connection.command('EHLO client.test')
      for (let mail = left.pop(); mail !== undefined; mail = left.pop()) {
        const lines = ['MAIL FROM:<ann@friend.example>', `RCPT TO:<support@${system.domain}>`, 'DATA']
        for (const line of lines) expectReply(await connection.command(line))
        connection.send(Buffer.concat([mail, Buffer.from('\r\n.\r\n')]))
        expectReply(await connection.readReply())
      }
      connection.disconnect()
    }),
  )
}

function expectReply(reply: string): void {
  if (!/^[23]/.test(reply)) throw new Error(`the inbound port replied ${reply}`)
}

async function waitForWebhooks(count: number): Promise<void> {
  let seen = receiver.requests.length
  let seenAt = performance.now()
  while (receiver.requests.length < count) {
    if (receiver.requests.length > seen) [seen, seenAt] = [receiver.requests.length, performance.now()]
    if (performance.now() > seenAt + PATIENCE_MS)
      throw new Error(`${receiver.requests.length} of ${count} webhooks arrived`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function measure(count: number): Promise<void> {
  const mails = await makeMails(count)
  const octets = mails.reduce((sum, { length }) => sum + length, 0)
  const children = childrenOf(process.pid)
  const groups = Object.fromEntries(children.map((pid) => [String(pid), pid]))
  const before = readUsage(groups)
  const startedAt = performance.now()
  await sendAll(mails)
  const sentMs = performance.now() - startedAt
  await waitForWebhooks(WARM_UP + count)
  const ms = performance.now() - startedAt
  const after = readUsage(groups)
  const rows = children.map((pid) => {
    const cpu = ((after[pid]?.cpuMs ?? 0) - (before[pid]?.cpuMs ?? 0)) / count
    return { name: nameOf(pid), cpu }
  })
  const total = rows.reduce((sum, { cpu }) => sum + cpu, 0)
  process.stdout.write(
    `${formatTable([['process', 'CPU ms a mail'], ...rows.map(({ name, cpu }) => [name, cpu.toFixed(2)])])}\n` +
      `${count} mails of ${(octets / count / 1024).toFixed(1)} KB on average: ` +
      `accepted ${((count * 1000) / sentMs).toFixed(0)}/s, webhooks ${((count * 1000) / ms).toFixed(0)}/s.\n` +
      `CPU ${total.toFixed(2)} ms a mail: ${CORES} cores without other load have ` +
      `${((CORES * 1000) / total).toFixed(0)}/s (target ${TARGET_RATE}/s).\n`,
  )
}

function nameOf(pid: number): string {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  const main = words.findIndex((word) => word.endsWith('mailstead.ts'))
  return (
    (main < 0
      ? (words[0] ?? '').split('/').at(-1)
      : words
          .slice(main + 1)
          .join(' ')
          .trim()) ?? ''
  )
}
