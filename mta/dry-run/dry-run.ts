/**
 * A dry run rehearses a delivery with the stages of a real one: the gates, the route, the TLS policy, the source, a
 * connection of its own, MAIL and RCPT, then RSET and QUIT; and it checks signature, SPF and DMARC as a receiver would.
 * It never sends DATA: nothing is sent and nothing is counted. The report lists the steps, each with what to do about
 * it; a step that ends the path leaves out those after it.
 *
 * Its timeouts are short and the whole run has a limit, because the caller waits for the report. It does not throw for
 * what a message, a server or DNS does.
 */
import type { Draft } from '#src/mime/draft.ts'
import { newId, timeOf } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { resultOf, type DryRunRequest, type DryRunReport, type DryRunStep } from '#src/operator/dry-runs.ts'
import { checkDestination } from './destination.ts'
import { findSender, checkFrom, checkQuota, checkSuppression, checkSuspension } from './gates.ts'
import type { ComposedMail, DryRunContext, DryRunDeps } from './dry-run-context.ts'
import { fail, ok } from './steps.ts'
import { countText } from '#src/platform/plural.ts'

const SECOND = 1000
/** After this time the report contains the steps so far. */
const TIMEOUT_MS = 55 * SECOND

/** Resolves within a minute. */
export async function executeDryRun(deps: DryRunDeps, request: DryRunRequest): Promise<DryRunReport> {
  const steps: DryRunStep[] = []
  const lines: string[] = []
  let timer: NodeJS.Timeout | undefined
  const timedOut = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      steps.push(
        fail(
          'time',
          `it took longer than ${TIMEOUT_MS / SECOND} seconds`,
          'the last line of the conversation shows what did not answer',
        ),
      )
      resolve()
    }, TIMEOUT_MS)
  })
  const stepsDone = runSteps(deps, request, { steps, lines }).catch((error: unknown) => {
    deps.ctx.log.error({ err: error }, 'a dry run failed with an unexpected error')
    steps.push(
      fail(
        'internal error',
        `the dry run failed: ${error instanceof Error ? error.message : String(error)}`,
        'check the log of the mta process',
      ),
    )
  })
  await Promise.race([stepsDone, timedOut])
  clearTimeout(timer)
  return { result: resultOf(steps), steps: [...steps], conversation: [...lines] }
}

async function runSteps(
  deps: DryRunDeps,
  request: DryRunRequest,
  { steps, lines }: { steps: DryRunStep[]; lines: string[] },
): Promise<void> {
  const to = parseAddress(request.to)
  if (!to.ok) {
    steps.push(fail('recipient', `${request.to} is not an address: ${to.reason}`, 'give one recipient address'))
    return
  }
  const { step, sender } = await findSender(deps.ctx, request)
  steps.push(step)
  if (sender === null) return
  const run: DryRunContext = {
    ...deps,
    request: { ...request, to: to.address.address },
    messageId: newId(deps.ctx.clock.now()),
    domain: to.address.domain,
    sender,
    steps,
    lines,
  }
  const { ctx } = deps
  steps.push(await checkQuota(ctx, deps.plans, sender))
  steps.push(await checkSuppression(ctx, sender, run.request.to))
  steps.push(await checkSuspension(ctx, run.messageId, sender, run.domain))
  const fromStep = checkFrom(run.request)
  if (fromStep !== null) steps.push(fromStep)
  const mail = await composeMail(run)
  if (mail === null) return
  const sourceAddress = await checkDestination(run, mail)
  // loaded here because the verifier is large, and a process that only sends does not need it
  const { checkAuthentication: examine } = await import('./authentication.ts')
  steps.push(...(await examine(ctx.config, { ...mail, sourceAddress })))
}

/** Composes and signs the message as a delivery would. */
async function composeMail({
  request: order,
  messageId,
  sender,
  steps,
  openPipeline: { pipeline: stages, egress },
}: DryRunContext): Promise<ComposedMail | null> {
  const domain = await stages.sendingDomain(sender.domainId)
  const keys = domain.kind === 'ready' ? domain.keys : []
  try {
    const composed = await stages.compose(draftOf(order, messageId))
    const data = await stages.sign(composed, keys, false)
    const signed =
      keys.length === 0 ? 'not signed' : `signed with ${keys.map(({ algorithm }) => algorithm).join(' and ')}`
    steps.push(ok('message', `${countText(data.length, 'byte')}, ${signed}`))
    const returnPath = stages.returnPath(
      { messageId, n: 0, submitted: null },
      domain.kind === 'ready' ? domain.mailFrom : null,
    )
    const pool = domain.kind === 'ready' ? domain.pool : ''
    return { data, smtputf8: composed.needsSmtputf8, returnPath, ehloName: egress.system.ehloName, pool }
  } catch (error) {
    steps.push(
      fail(
        'message',
        `the message cannot be composed: ${error instanceof Error ? error.message : String(error)}`,
        'correct the message',
      ),
    )
    return null
  }
}

function draftOf({ from, to, raw }: DryRunRequest, messageId: string): Draft {
  return {
    messageId,
    createdAt: new Date(timeOf(messageId)),
    from: { email: from, name: null },
    replyTo: null,
    to: [{ email: to, name: null }],
    cc: [],
    subject: 'Dry run',
    html: null,
    text: 'This message is not sent.',
    headers: [],
    attachments: [],
    raw,
  }
}
