/**
 * `mailstead demo`: a whole Mailstead of its own in a temporary folder, one mail for each tier, a campaign, one mail that bounces, one that is
 * deferred twice; every event is shown as its signed webhook arrives. Exit code 0 only when each mail had just the events it should have, in
 * sequence, and what was delivered carries DKIM signatures that pass. Nothing is left behind.
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

/** A deferral of minutes takes seconds here. */
const RETRY_SCALE = '0.02'
const START_WAIT_MS = 300_000
const EVENTS_WAIT_MS = 120_000
/** A scheduled mail may not be due sooner than a minute from now. */
const SCHEDULE_MS = 62_000

interface Mail {
  readonly title: string
  readonly path: string
  readonly to: string
  readonly events: readonly string[]
}

const DELIVERED = ['email.queued', 'email.sent', 'email.delivered']

const MAILS: readonly Mail[] = [
  { title: 'a one-time code', path: 'instant', to: 'ada@example.com', events: DELIVERED },
  { title: 'a security alert', path: 'high', to: 'bea@example.org', events: DELIVERED },
  { title: 'a receipt', path: 'async', to: 'cyd@example.net', events: DELIVERED },
  { title: 'a newsletter', path: 'bulk', to: 'dan@example.edu', events: DELIVERED },
  {
    title: 'a mail for later',
    path: 'schedule',
    to: 'eve@example.com',
    events: ['email.scheduled', 'email.sent', 'email.delivered'],
  },
  { title: 'a campaign', path: 'campaign', to: 'fay@example.com', events: DELIVERED },
  { title: 'to nobody', path: 'high', to: 'bounce-5.1.1@example.com', events: ['email.queued', 'email.bounced'] },
  {
    title: 'to a busy server',
    path: 'high',
    to: 'defer-2@example.com',
    events: ['email.queued', 'email.deferred', 'email.deferred', 'email.sent', 'email.delivered'],
  },
]

interface Event {
  readonly type: string
  readonly sequence: number
  readonly recipient: string
  readonly data: { readonly bounce_message?: string; readonly message?: string } | null
}

export async function run(args: string[]): Promise<number> {
  if (args.length > 0) {
    process.stderr.write('Usage: mailstead demo\n')
    return args[0] === '--help' ? 0 : 2
  }
  const dataDir = mkdtempSync(join(tmpdir(), 'mailstead-demo-'))
  chmodSync(dataDir, 0o711) // PostgreSQL runs as another user where we are root, and must find its way in
  const stop = watchForStop()
  let child: ChildProcess | undefined
  try {
    say('Starting a Mailstead of its own: PostgreSQL, Redis, api, mta, worker and the sandbox …')
    const config = loadConfig({ ...environmentFor(dataDir), HTTP_PORT: String(await freePort()) })
    child = startMailstead(config, dataDir)
    await Promise.race([awaitReady(child), aborted(stop)])
    return await Promise.race([show(config), aborted(stop)])
  } catch (error) {
    say(error instanceof Error ? error.message : String(error))
    return 1
  } finally {
    if (child !== undefined) await end(child)
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Of the caller's environment only what programs need: nothing of it may turn the demo towards real mail or stores. */
function environmentFor(dataDir: string): NodeJS.ProcessEnv {
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
  const env = { ...environmentFor(dataDir), HTTP_PORT: String(config.httpPort) }
  return spawn(process.execPath, [...process.execArgv, join(import.meta.dirname, '../mailstead.ts'), 'start'], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** The banner is printed when everything is up. */
async function awaitReady(child: ChildProcess): Promise<void> {
  const told = await Promise.race([
    once(child.stdout ?? child, 'data').then(() => 'ready'),
    once(child, 'exit').then(() => 'over'),
    sleep(START_WAIT_MS).then(() => 'late'),
  ])
  if (told === 'ready') return
  throw new Error(
    told === 'over' ? 'Mailstead did not start; the lines above say why.' : 'Mailstead did not become ready.',
  )
}

/** Sends all, waits for all events, judges. Answers the exit code. */
async function show(config: Config): Promise<number> {
  const { adminKey, sending } = await provision(attachStores(config))
  if (adminKey === null || sending === null) throw new Error('There are no keys to send with.')
  const events = new Map<string, Event[]>(MAILS.map(({ to }) => [to, []]))
  const receiver = await receiveWebhooks((event) => {
    if (!event.type.startsWith('email.')) return
    events.get(event.recipient)?.push(event)
    say(
      `  ${event.type.padEnd(16)} ${event.recipient.padEnd(26)} ${event.data?.bounce_message ?? event.data?.message ?? ''}`,
    )
  })
  try {
    await post(config, adminKey, 'public/webhooks', { url: receiver.url, events: ['*'] })
    say('Sending:')
    for (const mail of MAILS)
      await (mail.path === 'campaign'
        ? sendCampaign(config, adminKey, { ...mail, domain: sending.domain })
        : send(config, sending, mail))
    say(`Events, as their webhooks arrive (the scheduled mail is due in ${SCHEDULE_MS / 1000} seconds):`)
    for (const until = Date.now() + EVENTS_WAIT_MS; Date.now() < until && !MAILS.every((mail) => isDone(mail, events));)
      await sleep(100)
    return await judge(config, events)
  } finally {
    receiver.server.close()
    receiver.server.closeAllConnections()
  }
}

async function receiveWebhooks(take: (event: Event) => void): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      response.end()
      take(JSON.parse(Buffer.concat(chunks).toString()) as Event)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${portOf(server)}/` }
}

async function send(
  config: Config,
  sending: { key: string; domain: string },
  { title, path, to }: Mail,
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
  say(`  ${path.padEnd(9)} ${title.padEnd(17)} to ${to.padEnd(26)} ${String(answer['email_id'])}`)
}

/** A campaign to an audience of one. */
async function sendCampaign(
  config: Config,
  key: string,
  { title, to, domain }: Mail & { readonly domain: string },
): Promise<void> {
  const audience = await post(config, key, 'public/audiences/add-audience', { name: 'Demo' })
  await post(config, key, 'public/contacts/add-contact', { email: to, first_name: 'Fay', audience_id: idOf(audience) })
  const body = '<p>Hello {{firstName}}, this is <b>a campaign</b>. <a href="{{unsubscribeUrl}}">Unsubscribe</a></p>'
  const draft = await post(config, key, 'public/campaigns', {
    name: 'Demo',
    subject: `Demo: ${title}`,
    body,
    from: `Demo <demo@${domain}>`,
    audience_ids: [idOf(audience)],
  })
  await post(config, key, `public/campaigns/${idOf(draft)}/start`, {})
  say(`  ${'campaign'.padEnd(9)} ${title.padEnd(17)} to ${to.padEnd(26)} ${idOf(draft)}`)
}

function idOf(answer: Record<string, unknown>): string {
  return (answer['data'] as { id: string }).id
}

async function post(config: Config, key: string, path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${config.publicUrl}/api/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const json = (await answer.json()) as Record<string, unknown>
  if (!answer.ok) throw new Error(`POST ${path} was answered ${answer.status}: ${JSON.stringify(json)}`)
  return json
}

function isDone({ to, events }: Mail, arrived: ReadonlyMap<string, readonly Event[]>): boolean {
  return (arrived.get(to)?.length ?? 0) >= events.length
}

async function judge(config: Config, events: ReadonlyMap<string, readonly Event[]>): Promise<number> {
  const db = openDb(attachStores(config).databaseUrl, openLog({ logLevel: 'silent' }, 'demo'), 1)
  try {
    const inbox = await listInbox(db, 100)
    say('Judged:')
    const verdicts = MAILS.map((mail) => {
      const seen = (events.get(mail.to) ?? []).toSorted((a, b) => a.sequence - b.sequence).map(({ type }) => type)
      const arrived = inbox.filter(({ rcptTo }) => rcptTo === mail.to)
      const isExpected = mail.events.includes('email.delivered')
        ? arrived.length === 1 &&
          arrived.every(({ dkim }) => dkim.length === 2 && dkim.every(({ result }) => result === 'pass'))
        : arrived.length === 0
      const isRight = seen.join() === mail.events.join() && isExpected
      say(
        `  ${isRight ? 'ok   ' : 'WRONG'} ${mail.to.padEnd(26)} ${seen.map((type) => type.slice('email.'.length)).join(' → ')}${arrived.length > 0 ? `, DKIM ${arrived.flatMap(({ dkim }) => dkim.map(({ result }) => result)).join(' and ')}` : ''}`,
      )
      return isRight
    })
    return verdicts.every(Boolean) ? 0 : 1
  } finally {
    await db.close()
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = portOf(server)
  server.close()
  await once(server, 'close')
  return port
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a server without a port')
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

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
