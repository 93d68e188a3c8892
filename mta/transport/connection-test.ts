/**
 * Tests the connection of an account step by step: DNS, TCP connect, greeting, TLS, authentication, and whether the
 * server accepts mail from the account's first address (MAIL, then RSET; it sends no message). It reports the result of
 * each step and ends within its time limit whatever the server does.
 */
import type { Socket } from 'node:net'
import { chooseTimeouts } from '#mta/smtp/timeouts.ts'
import type { SessionSettings } from '#mta/smtp/open.ts'
import type { OpenStage } from '#mta/smtp/result.ts'
import type { Wire } from '#mta/smtp/wire.ts'
import { formatReply, type Reply } from '#src/mail/reply.ts'
import type { Account } from '#src/providers/accounts.ts'
import { TEST_LIMIT_MS, TEST_STEPS, type TestResult, type TestStep } from '#src/providers/connection-tests.ts'
import {
  redactSecrets,
  openAccountSession,
  resolveHost,
  type AccountSessionResult,
  type AccountSessionDeps,
} from './relay-connect.ts'

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

interface TestConversation {
  readonly failed: TestFailure | null
  readonly secrets: readonly string[]
}

interface TestFailure {
  readonly step: TestStep
  readonly detail: string
}

export async function testConnection(
  deps: AccountSessionDeps,
  account: Account,
  now: () => number,
): Promise<TestResult> {
  const at = new Date(now()).toISOString()
  const began = performance.now()
  const lines: string[] = []
  const { failed, secrets } = await runConversation(deps, account, lines)
  const reached = failed === null ? TEST_STEPS.length : TEST_STEPS.indexOf(failed.step)
  const steps = TEST_STEPS.slice(0, reached).map((step) => ({ step, ok: true, detail: PASSED_DETAILS[step](account) }))
  if (failed !== null) {
    const detail = `${failed.detail}. ${HINTS[failed.step](account)}`
    steps.push({ step: failed.step, ok: false, detail: redactSecrets(detail, secrets) })
  }
  const durationMs = Math.round(performance.now() - began)
  return { ok: failed === null, steps, conversation: redactSecrets(lines.join('\n'), secrets), durationMs, at }
}

const PASSED_DETAILS: Readonly<Record<TestStep, (account: Account) => string>> = {
  dns: ({ host }) => `${host} resolves to allowed addresses`,
  connect: ({ host, port }) => `${host} accepts connections on port ${port}`,
  greeting: () => 'the server sent its greeting and its extensions',
  tls: ({ security, host }) =>
    security === 'none' ? 'not used: the account has no TLS' : `the certificate is valid for ${host}`,
  auth: ({ username }) => `the server accepted the credentials of ${username}`,
  mail: ({ addresses }) => `the server accepts mail from ${addresses[0] ?? ''}`,
}

/** What to check, in the words of the account's fields and of our settings. */
const HINTS: Readonly<Record<TestStep, (account: Account) => string>> = {
  dns: ({ host }) => `Check host (${host}); the operator allows private networks with ALLOW_PRIVATE_TARGETS.`,
  connect: ({ host, port }) => `Check host (${host}) and port (${port}), and that a firewall permits the connection.`,
  greeting: ({ port, security }) =>
    `Check port (${port}) and security (${security}): tls is for 465, starttls for 587.`,
  tls: ({ host, port, security }) =>
    `Check host (${host}), which the certificate must name, and security (${security}) for port ${port}. ` +
    'The operator adds an authority of his own with EXTRA_CA_FILE.',
  auth: ({ username }) => `Check username (${username}) and password; many providers need a password for applications.`,
  mail: ({ addresses }) => `Check from (${addresses[0] ?? ''}): the server must permit it for this user.`,
}

async function runConversation(deps: AccountSessionDeps, account: Account, lines: string[]): Promise<TestConversation> {
  const resolved = await resolveHost(deps, account)
  if (!Array.isArray(resolved)) return { failed: { step: 'dns', detail: resolved.detail }, secrets: [] }
  const sockets = new Set<Socket>()
  const limit = setTimeout(() => sockets.forEach((socket) => socket.destroy()), TEST_LIMIT_MS)
  let mail: Reply | null = null
  const probe = async (wire: Wire): Promise<void> => {
    wire.send([`MAIL FROM:<${account.addresses[0] ?? ''}>`])
    mail = await wire.readReply('mail')
    if (mail === null) return
    wire.send(['RSET'])
    await wire.readReply('rset')
  }
  const onSocket = (socket: Socket): void => void sockets.add(socket)
  const settings: SessionSettings = { ...deps.settings, timeouts: TIMEOUTS, onSocket }
  const opened = await openAccountSession({ ...deps, settings, probe }, account, lines).finally(() =>
    clearTimeout(limit),
  )
  if (opened.kind !== 'session')
    return { failed: failureOf(opened, lines), secrets: 'secrets' in opened ? opened.secrets : [] }
  lines.push(...opened.session.opening)
  await opened.session.quit()
  return { failed: checkMailReply(mail), secrets: opened.secrets }
}

function checkMailReply(reply: Reply | null): TestFailure | null {
  if (reply === null) return { step: 'mail', detail: 'the server did not answer MAIL' }
  return reply.code < 300 ? null : { step: 'mail', detail: formatReply(reply) }
}

function failureOf(opened: Exclude<AccountSessionResult, { kind: 'session' }>, lines: string[]): TestFailure {
  if (opened.kind === 'refused') return { step: 'auth', detail: formatReply(opened.reply) }
  if (opened.kind === 'failed')
    return { step: opened.failure === null ? 'dns' : STEP_OF[opened.failure.stage], detail: opened.detail }
  lines.push(`-- ${opened.reason}`)
  return { step: 'auth', detail: opened.reason }
}
