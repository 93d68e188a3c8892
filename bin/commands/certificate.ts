/** `mailstead certificate`: the certificates that are requested from an authority (ACME). A worker requests them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { runActions } from '#bin/cli/actions.ts'
import type { CliActions, CommandCall, CommandIo } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { lineText, tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { isPublicName } from '#config/load.ts'
import {
  type CertificateStatus,
  listCertificates,
  removeCertificate,
  reportNeeded,
  requestNow,
} from '#src/certificates/certificate-store.ts'
import { CERTIFICATE_USES, isAutomatic } from '#src/certificates/needed-names.ts'
import type { Context } from '#src/context.ts'

/** A request takes some seconds, and one of dns-01 some minutes. */
const WAIT_MS = 5 * 60_000
const POLL_MS = 500

const OFF = 'No certificates are requested: ACME_CHALLENGE is off.'
const SWITCH_ON = 'Set ACME_CHALLENGE: see the guide "Certificates".'

function describe(certificates: readonly CertificateStatus[]): string {
  if (certificates.length === 0) return 'There is none. Processes report what they need when they start.'
  const rows = certificates.map(({ name, otherNames, use, state, expiresAt, dueAt }) => [
    [name, ...otherNames].join(' '),
    use,
    state,
    expiresAt === null ? '' : timeText(expiresAt),
    timeText(dueAt),
  ])
  const [head, ...lines] = tableText(['NAME', 'USE', 'STATE', 'EXPIRES', 'NEXT REQUEST'], rows).split('\n')
  // a reason is longer than any column
  const reasons = certificates.map(({ lastError }) => (lastError === null ? [] : [`  → ${lineText(lastError)}`]))
  return [head, ...lines.flatMap((line, index) => [line, ...(reasons[index] ?? [])])].join('\n')
}

function certificateJson(one: CertificateStatus): object {
  return {
    name: one.name,
    other_names: one.otherNames,
    use: one.use,
    origin: one.origin,
    state: one.state,
    expires_at: one.expiresAt?.toISOString() ?? null,
    next_request_at: one.dueAt.toISOString(),
    failures: one.failures,
    last_error: one.lastError,
  }
}

/** Waits until none of them is due any more, and reports what came of it. */
async function awaitRequested(call: CommandCall, { db }: Context, name: string | null): Promise<number> {
  const read = async (): Promise<readonly CertificateStatus[]> =>
    (await listCertificates(db)).filter((one) => one.state !== 'unused' && (name === null || one.name === name))
  let found = await read()
  for (const end = Date.now() + WAIT_MS; Date.now() < end; await sleep(POLL_MS)) {
    found = await read()
    if (found.every(({ dueAt }) => dueAt.getTime() > Date.now())) break
  }
  const isDone = found.every(({ state }) => state === 'valid')
  call.respond(describe(found), found.map(certificateJson))
  return isDone ? 0 : 1
}

async function report(
  call: CommandCall,
  ctx: Context,
  { name, text }: { name: string | null; text: string },
): Promise<number> {
  if (call.has('wait')) return awaitRequested(call, ctx, name)
  const found = (await listCertificates(ctx.db)).filter((one) => name === null || one.name === name)
  return call.respond(`${text} See mailstead certificate list.`, found.map(certificateJson))
}

const ABOUT_WAIT = 'wait until it was requested; exits with 1 if that failed'

const ACTIONS: CliActions = {
  list: {
    summary: 'list the certificates, when they expire, and why one could not be requested',
    examples: ['list', 'list --json'],
    usage: 'list',
    run: (call) =>
      withContext(call.io, async ({ db, config }) => {
        const certificates = await listCertificates(db)
        const text = isAutomatic(config) || certificates.length > 0 ? describe(certificates) : `${OFF} ${SWITCH_ON}`
        return call.respond(text, certificates.map(certificateJson))
      }),
  },
  request: {
    summary: 'request a certificate for a name that the settings do not have',
    examples: ['request www.example.com', 'request smtp.example.com --use smtp --wait'],
    usage: 'request NAME [--use USE] [--wait]',
    options: ['use'],
    flags: ['wait'],
    about: { use: 'web (the default), or smtp', wait: ABOUT_WAIT },
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const name = call.argument(0).toLowerCase()
        const use = CERTIFICATE_USES.find((one) => one === (call.option('use') ?? 'web'))
        if (!isAutomatic(ctx.config)) return call.fail(OFF, SWITCH_ON)
        if (use === undefined) return call.fail('--use is not known.', `Use ${CERTIFICATE_USES.join(' or ')}.`)
        if (!isPublicName(name))
          return call.fail(`${name} is not a public host name.`, 'Use one such as www.example.com.')
        await reportNeeded(ctx.db, [{ use, name, otherNames: [] }], 'operator')
        return report(call, ctx, { name, text: `A worker requests a certificate for ${name} now.` })
      }),
  },
  renew: {
    summary: 'request a certificate again at once, also after failures; without a name all of them',
    examples: ['renew mail.example.com --wait', 'renew --all'],
    usage: 'renew (NAME | --all) [--wait]',
    flags: ['all', 'wait'],
    about: { all: 'all certificates; authorities limit how often', wait: ABOUT_WAIT },
    arguments: [0, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        if (!isAutomatic(ctx.config)) return call.fail(OFF, SWITCH_ON)
        const name = call.arguments[0]?.toLowerCase() ?? null
        if ((name === null) !== call.has('all'))
          return call.fail('It is not clear which certificates you mean.', 'Name one, or add --all.')
        const count = await requestNow(ctx.db, name)
        if (count === 0) return call.fail(`There is no certificate ${name ?? ''}.`, 'See mailstead certificate list.')
        return report(call, ctx, { name, text: 'A worker requests it now.' })
      }),
  },
  remove: {
    summary: 'forget a certificate that is not needed any more, and its key',
    examples: ['remove old.example.com --yes'],
    usage: 'remove NAME --yes',
    flags: ['yes'],
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const name = call.argument(0).toLowerCase()
        if (!call.has('yes')) return call.fail(`The key of ${name} will be gone.`, 'If you mean it, add --yes.')
        if ((await removeCertificate(db, name)) === 0)
          return call.fail(`There is no certificate ${name}.`, 'See mailstead certificate list.')
        return call.respond(`${name} is removed. Processes that have it use it until they are restarted.`, {
          name,
          removed: true,
        })
      }),
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('certificate', ACTIONS, args, io)
}
