/**
 * `mailstead demo`: starts a separate Mailstead in a temporary folder and sends one mail on each tier, a campaign, one
 * mail that bounces and one that is deferred twice. Prints every event when its signed webhook arrives. The exit code
 * is 0 only if each mail had exactly the expected events, in order, and the delivered mails have valid DKIM signatures.
 * Nothing is left behind.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { attachStores } from '#bin/supervisor/stores.ts'
import { environment } from '#config/environment.ts'
import { loadConfig, type Config } from '#config/load.ts'
import { openDb } from '#src/stores/db.ts'
import { openLog } from '#src/platform/log.ts'
import { listInbox } from '#src/sandbox/inbox.ts'
import { provision } from './first-run.ts'
import { watchForStop } from './stop-signal.ts'
import { refuseArguments } from '#bin/cli/no-arguments.ts'

/** Retries that take minutes take seconds here. */
const RETRY_SCALE = '0.02'
const START_WAIT_MS = 300_000
const EVENTS_WAIT_MS = 120_000
/** Mail can be scheduled for a minute from now at the earliest. */
const SCHEDULE_MS = 62_000

interface DemoMail {
  readonly title: string
  readonly path: string
  readonly to: string
  readonly events: readonly string[]
}

const DELIVERED_EVENTS = ['email.queued', 'email.sent', 'email.delivered']

const DEMO_MAILS: readonly DemoMail[] = [
  { title: 'a one-time code', path: 'instant', to: 'ada@example.com', events: DELIVERED_EVENTS },
  { title: 'a security alert', path: 'high', to: 'bea@example.org', events: DELIVERED_EVENTS },
  { title: 'a receipt', path: 'async', to: 'cyd@example.net', events: DELIVERED_EVENTS },
  { title: 'a newsletter', path: 'bulk', to: 'dan@example.edu', events: DELIVERED_EVENTS },
  {
    title: 'a mail for later',
    path: 'schedule',
    to: 'eve@example.com',
    events: ['email.scheduled', 'email.sent', 'email.delivered'],
  },
  { title: 'a campaign', path: 'campaign', to: 'fay@example.com', events: DELIVERED_EVENTS },
  { title: 'to nobody', path: 'high', to: 'bounce-5.1.1@example.com', events: ['email.queued', 'email.bounced'] },
  {
    title: 'to a busy server',
    path: 'high',
    to: 'defer-2@example.com',
    events: ['email.queued', 'email.deferred', 'email.deferred', 'email.sent', 'email.delivered'],
  },
]

interface WebhookEvent {
  readonly type: string
  readonly sequence: number
  readonly recipient: string
  readonly data: { readonly bounce_message?: string; readonly message?: string } | null
}

export async function run(args: string[]): Promise<number> {
  const refused = refuseArguments('demo', args)
  if (refused !== null) return refused
  const dataDir = mkdtempSync(join(tmpdir(), 'mailstead-demo-'))
  chmodSync(dataDir, 0o711) // as root, PostgreSQL runs as another user, which must enter this folder
  const stop = watchForStop()
  let child: ChildProcess | undefined
  try {
    printLine('Starting a separate Mailstead: PostgreSQL, Redis, api, mta, worker and the sandbox …')
    const config = loadConfig({ ...createEnvironment(dataDir), HTTP_PORT: String(await findFreePort()) })
    child = startMailstead(config, dataDir)
    await Promise.race([awaitReady(child), aborted(stop)])
    return await Promise.race([runDemo(config), aborted(stop)])
  } catch (error) {
    printLine(error instanceof Error ? error.message : String(error))
    return 1
  } finally {
    if (child !== undefined) await stopChild(child)
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Only what programs need from the caller's environment: no setting may direct the demo to real mail or stores. */
function createEnvironment(dataDir: string): NodeJS.ProcessEnv {
  const { PATH, HOME, LANG } = environment
  return {
    ...(PATH && { PATH }),
    ...(HOME && { HOME }),
    ...(LANG && { LANG }),
    DATA_DIR: dataDir,
    HTTP_HOST: '127.0.0.1',
    RETRY_SCALE,
    ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
  }
}

function startMailstead(config: Config, dataDir: string): ChildProcess {
  const env = { ...createEnvironment(dataDir), HTTP_PORT: String(config.httpPort) }
  return spawn(process.execPath, [...process.execArgv, join(import.meta.dirname, '../mailstead.ts'), 'start'], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** The child prints its banner when everything runs. */
async function awaitReady(child: ChildProcess): Promise<void> {
  const told = await Promise.race([
    once(child.stdout ?? child, 'data').then(() => 'ready'),
    once(child, 'exit').then(() => 'over'),
    sleep(START_WAIT_MS).then(() => 'late'),
  ])
  if (told === 'ready') return
  throw new Error(
    told === 'over' ? 'Mailstead did not start. The lines above say why.' : 'Mailstead did not become ready.',
  )
}

/** Sends all mails, waits for their events, and checks them. Returns the exit code. */
async function runDemo(config: Config): Promise<number> {
  const { adminKey, sending } = await provision(attachStores(config))
  if (adminKey === null || sending === null) throw new Error('The demo has no keys to send with.')
  const events = new Map<string, WebhookEvent[]>(DEMO_MAILS.map(({ to }) => [to, []]))
  const receiver = await receiveWebhooks((event) => {
    if (!event.type.startsWith('email.')) return
    events.get(event.recipient)?.push(event)
    const detail = event.data?.bounce_message ?? event.data?.message ?? ''
    printLine(`  ${event.type.padEnd(16)} ${event.recipient.padEnd(26)} ${detail}`)
  })
  try {
    await post(config, adminKey, 'public/webhooks', { url: receiver.url, events: ['*'] })
    printLine('Sending:')
    for (const mail of DEMO_MAILS)
      await (mail.path === 'campaign'
        ? sendCampaign(config, adminKey, { ...mail, domain: sending.domain })
        : send(config, sending, mail))
    printLine(`Events, as their webhooks arrive (the scheduled mail is due in ${SCHEDULE_MS / 1000} seconds):`)
    for (
      const until = Date.now() + EVENTS_WAIT_MS;
      Date.now() < until && !DEMO_MAILS.every((mail) => isDone(mail, events));
    )
      await sleep(100)
    return await reportOutcome(config, events)
  } finally {
    receiver.server.close()
    receiver.server.closeAllConnections()
  }
}

async function receiveWebhooks(onEvent: (event: WebhookEvent) => void): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      response.end()
      onEvent(JSON.parse(Buffer.concat(chunks).toString()) as WebhookEvent)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${portOf(server)}/` }
}

async function send(
  config: Config,
  sending: { key: string; domain: string },
  { title, path, to }: DemoMail,
): Promise<void> {
  const later = path === 'schedule' ? { scheduled_at: new Date(Date.now() + SCHEDULE_MS).toISOString() } : {}
  const body = {
    from: `Demo <demo@${sending.domain}>`,
    to: [to],
    subject: `Demo: ${title}`,
    body: `<p>This is <b>${title}</b>.</p>`,
    ...later,
  }
  const answer = await post(config, sending.key, `send-email/${path}`, body)
  printLine(`  ${path.padEnd(9)} ${title.padEnd(17)} to ${to.padEnd(26)} ${String(answer['email_id'])}`)
}

/** Sends a campaign to an audience with one contact. */
async function sendCampaign(
  config: Config,
  key: string,
  { title, to, domain }: DemoMail & { readonly domain: string },
): Promise<void> {
  const audience = await post(config, key, 'public/audiences/add-audience', { name: 'Demo' })
  await post(config, key, 'public/contacts/add-contact', {
    email: to,
    first_name: 'Fay',
    audience_id: readId(audience),
  })
  const body = '<p>Hello {{firstName}}, this is <b>a campaign</b>. <a href="{{unsubscribeUrl}}">Unsubscribe</a></p>'
  const draft = await post(config, key, 'public/campaigns', {
    name: 'Demo',
    subject: `Demo: ${title}`,
    body,
    from: `Demo <demo@${domain}>`,
    audience_ids: [readId(audience)],
  })
  await post(config, key, `public/campaigns/${readId(draft)}/start`, {})
  printLine(`  ${'campaign'.padEnd(9)} ${title.padEnd(17)} to ${to.padEnd(26)} ${readId(draft)}`)
}

function readId(answer: Record<string, unknown>): string {
  return (answer['data'] as { id: string }).id
}

/** Longer than any request of the demo takes. */
const REQUEST_TIMEOUT_MS = 30_000

async function post(config: Config, key: string, path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${config.publicUrl}/api/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  })
  const json = (await answer.json()) as Record<string, unknown>
  if (!answer.ok) throw new Error(`POST ${path} returned ${answer.status}: ${JSON.stringify(json)}`)
  return json
}

function isDone({ to, events }: DemoMail, arrived: ReadonlyMap<string, readonly WebhookEvent[]>): boolean {
  return (arrived.get(to)?.length ?? 0) >= events.length
}

async function reportOutcome(config: Config, events: ReadonlyMap<string, readonly WebhookEvent[]>): Promise<number> {
  const db = openDb(attachStores(config).databaseUrl, openLog({ logLevel: 'silent' }, 'demo'), 1)
  try {
    const inbox = await listInbox(db, 100)
    printLine('Result:')
    const verdicts = DEMO_MAILS.map((mail) => {
      const seen = (events.get(mail.to) ?? []).toSorted((a, b) => a.sequence - b.sequence).map(({ type }) => type)
      const arrived = inbox.filter(({ rcptTo }) => rcptTo === mail.to)
      const isExpected = mail.events.includes('email.delivered')
        ? arrived.length === 1 &&
          arrived.every(({ dkim }) => dkim.length === 2 && dkim.every(({ result }) => result === 'pass'))
        : arrived.length === 0
      const isRight = seen.join() === mail.events.join() && isExpected
      const path = seen.map((type) => type.slice('email.'.length)).join(' → ')
      const dkim = arrived.flatMap(({ dkim: results }) => results.map(({ result }) => result)).join(' and ')
      const signatures = arrived.length > 0 ? `, DKIM ${dkim}` : ''
      printLine(`  ${isRight ? 'ok   ' : 'WRONG'} ${mail.to.padEnd(26)} ${path}${signatures}`)
      return isRight
    })
    return verdicts.every(Boolean) ? 0 : 1
  } finally {
    await db.close()
  }
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = portOf(server)
  server.close()
  await once(server, 'close')
  return port
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return address.port
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true })
  })
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref()
  })
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`)
}
