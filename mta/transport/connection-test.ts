/**
 * The connection test of an account: its addresses, the connection, the greeting, TLS, the sign-in, and whether mail may come from its
 * first address (MAIL, then RSET: nothing is sent). Each step with what was found; ends within its time whatever the server does.
 */
import type { Socket } from 'node:net'
import { chooseTimeouts } from '#mta/smtp/timeouts.ts'
import type { OpenStage } from '#mta/smtp/result.ts'
import type { Wire } from '#mta/smtp/wire.ts'
import { formatReply, type Reply } from '#src/mail/reply.ts'
import type { Account } from '#src/providers/accounts.ts'
import { TEST_LIMIT_MS, TEST_STEPS, type TestResult, type TestStep } from '#src/providers/connection-tests.ts'
import { hideSecrets, openAccount, resolveHost, type AccountOpened, type AccountOpening } from './relay-connect.ts'

const STEP_MS = 8000
const TIMEOUTS = chooseTimeouts(
  Object.fromEntries(
    (['connect', 'greeting', 'ehlo', 'starttls', 'tls', 'auth', 'mail', 'rset', 'quit'] as const).map((step) => [
      step,
      STEP_MS,
    ]),
  ),
)

const STEP_OF: Readonly<Record<OpenStage, TestStep>> = {
  connect: 'connect',
  greeting: 'greeting',
  ehlo: 'greeting',
  starttls: 'tls',
  tls: 'tls',
  auth: 'auth',
}

interface Tested {
  readonly failed: Found | null
  readonly secrets: readonly string[]
}

interface Found {
  readonly step: TestStep
  readonly detail: string
}

export async function testConnection(parts: AccountOpening, account: Account, now: () => number): Promise<TestResult> {
  const at = new Date(now()).toISOString()
  const began = performance.now()
  const lines: string[] = []
  const { failed, secrets } = await carryOut(parts, account, lines)
  const reached = failed === null ? TEST_STEPS.length : TEST_STEPS.indexOf(failed.step)
  const steps = TEST_STEPS.slice(0, reached).map((step) => ({ step, ok: true, detail: PASSED[step](account) }))
  if (failed !== null) steps.push({ step: failed.step, ok: false, detail: hideSecrets(failed.detail, secrets) })
  const durationMs = Math.round(performance.now() - began)
  return { ok: failed === null, steps, conversation: hideSecrets(lines.join('\n'), secrets), durationMs, at }
}

const PASSED: Readonly<Record<TestStep, (account: Account) => string>> = {
  dns: ({ host }) => `${host} has addresses that may be reached`,
  connect: ({ host, port }) => `${host} takes connections at port ${port}`,
  greeting: () => 'it greets and says what it offers',
  tls: ({ security, host }) => (security === 'none' ? 'not wanted' : `its certificate is valid for ${host}`),
  auth: ({ username }) => `${username} is let in`,
  mail: ({ addresses }) => `mail from ${addresses[0] ?? ''} is taken`,
}

async function carryOut(parts: AccountOpening, account: Account, lines: string[]): Promise<Tested> {
  const resolved = await resolveHost(parts, account)
  if (!Array.isArray(resolved)) return { failed: { step: 'dns', detail: resolved.detail }, secrets: [] }
  const sockets = new Set<Socket>()
  const limit = setTimeout(() => sockets.forEach((socket) => socket.destroy()), TEST_LIMIT_MS)
  let mail: Reply | null = null
  const probe = async (wire: Wire): Promise<void> => {
    wire.send([`MAIL FROM:<${account.addresses[0] ?? ''}>`])
    mail = await wire.answer('mail')
    if (mail === null) return
    wire.send(['RSET'])
    await wire.answer('rset')
  }
  const settings = { ...parts.settings, timeouts: TIMEOUTS, watch: (socket: Socket) => void sockets.add(socket) }
  const opened = await openAccount({ ...parts, settings, probe }, account, lines).finally(() => clearTimeout(limit))
  if (opened.kind !== 'session')
    return { failed: explain(opened, lines), secrets: 'secrets' in opened ? opened.secrets : [] }
  lines.push(...opened.session.opening)
  await opened.session.quit()
  return { failed: judgeMail(mail), secrets: opened.secrets }
}

function judgeMail(reply: Reply | null): Found | null {
  if (reply === null) return { step: 'mail', detail: 'no answer to MAIL' }
  return reply.code < 300 ? null : { step: 'mail', detail: formatReply(reply) }
}

function explain(opened: Exclude<AccountOpened, { kind: 'session' }>, lines: string[]): Found {
  if (opened.kind === 'refused') return { step: 'auth', detail: formatReply(opened.reply) }
  if (opened.kind === 'failed')
    return { step: opened.failure === null ? 'dns' : STEP_OF[opened.failure.stage], detail: opened.detail }
  lines.push(`-- ${opened.reason}`)
  return { step: 'auth', detail: opened.reason }
}
