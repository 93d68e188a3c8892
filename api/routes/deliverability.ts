/**
 * The deliverability desk: what goes to each receiver, what holds it, and the next actions with their evidence. For
 * the operator of the whole installation, and for a workspace of its own mail. It reads counters, so it is fast at
 * any size.
 */
import { z } from 'zod'
import { findTranslation } from '#src/platform/coded-text.ts'
import { ACTION_NAMES, ACTION_RULES, nextActions, type NextAction } from '#src/deliverability/action-rules.ts'
import { type Desk, TRAFFIC_COUNTERS, type ReceiverDesk, type TrafficAt } from '#src/deliverability/facts.ts'
import { readDesk } from '#src/deliverability/read-desk.ts'
import { SOURCE_STATES } from '#src/egress/sources.ts'
import { COUNTERS } from '#src/statistics/dimensions.ts'
import { envelope, timestamp, translation } from '#api/http/response-schemas.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { countText } from '#src/platform/plural.ts'

const count = z.int().min(0)
const nullableText = z.string().nullable()
const trafficSchema = z
  .object(Object.fromEntries(TRAFFIC_COUNTERS.map((name) => [name, count.meta({ description: COUNTERS[name] })])))
  .meta({ id: 'DeskTraffic', description: 'counts of recipients and attempts' })
const seriesSchema = z.array(
  z.object({ start: timestamp.meta({ description: 'its start, in UTC' }), traffic: trafficSchema }),
)
const named = (description: string): z.ZodString => z.string().meta({ description })

const actionSchema = z
  .object({
    rule: z
      .enum(ACTION_NAMES)
      .meta({ description: 'the rule that found it, as the guide on deliverability lists them' }),
    subject: named('the receiver, source, workspace or name that it is about'),
    title: named('what is wrong'),
    title_translation: translation.nullable().meta({ description: 'of the title; null: there is none' }),
    todo: named('what to do'),
    todo_translation: translation.nullable().meta({ description: 'of what to do; null: there is none' }),
    evidence: z.array(z.string()).meta({ description: 'numbers, each with its time' }),
    evidence_translations: z
      .array(translation.nullable())
      .meta({ description: 'of the evidence, in its order; null: there is none' }),
    reply: nullableText.meta({ description: 'the words of the receiver; null: it said nothing' }),
    since: timestamp.nullable().meta({ description: 'since when; null: unknown' }),
    guide: named('the path of the page that explains it'),
  })
  .meta({ id: 'DeskAction' })

const throttleSchema = z.object({
  source: nullableText.meta({ description: 'the source that it applies to; null: all' }),
  state: z.enum(['suspended', 'slowed']),
  connections: count.nullable().meta({ description: 'connections at a time that were learned; null: suspended' }),
  rule: nullableText.meta({ description: 'the reply rule; null: none, or one that another workspace caused' }),
  reply: nullableText.meta({ description: 'the reply that the rule matched' }),
  since: timestamp.meta({ description: 'when it began' }),
  until: timestamp.nullable().meta({ description: 'when it ends; null: the limit grows by itself' }),
})

const receiverFields = {
  name: named('the receiver of the shaping file, or the domain of the MX host'),
  title: named('its name for people'),
  domains: z.array(z.string()).meta({ description: 'the domains of its MX hosts' }),
  day: trafficSchema,
  week: trafficSchema,
  hours: seriesSchema.meta({ description: 'the last 24 hours, in UTC; hours without mail are left out' }),
  days: seriesSchema.meta({ description: 'the last 7 days of UTC; days without mail are left out' }),
  encrypted: count.meta({ description: 'of `day.sent`, those that were sent over TLS' }),
  reasons: z
    .array(
      z.object({
        class: named('the class of the deferral or bounce'),
        deferred: count.meta({ description: 'attempts that failed for now' }),
        bounced: count.meta({ description: 'bounces, hard and soft' }),
        reply: nullableText.meta({ description: 'the last reply, without addresses of people' }),
        since: timestamp.nullable().meta({ description: 'since when such replies come' }),
      }),
    )
    .meta({ description: 'why mail of 24 hours was deferred or bounced, the most frequent first' }),
  throttles: z.array(throttleSchema).meta({ description: 'what holds its mail now' }),
}

const receiverSchema = z.object(receiverFields).meta({ id: 'ReceiverDesk' })
const operatorReceiverSchema = z
  .object({
    ...receiverFields,
    warm_ups: z
      .array(
        z.object({
          source: named('the source in warm-up'),
          day: z.int().meta({ description: 'the step of its warm-up, from 1' }),
          allowance: count.meta({ description: 'messages that it may send to the receiver today' }),
          taken: count.meta({ description: 'how much of it is used' }),
        }),
      )
      .meta({ description: 'sources in warm-up that sent to it today' }),
    sources: z
      .array(z.object({ name: named('the source'), traffic: trafficSchema }))
      .meta({ description: 'the last 24 hours by source' }),
  })
  .meta({ id: 'OperatorReceiverDesk' })

const sourceSchema = z
  .object({
    name: z.string(),
    address: named('the IP address'),
    state: z.enum(Object.keys(SOURCE_STATES) as [keyof typeof SOURCE_STATES, ...(keyof typeof SOURCE_STATES)[]]),
    day: trafficSchema,
    problems: z
      .array(
        z.object({
          check: named('what was checked, such as its reverse DNS name or the blocklists'),
          status: z.enum(['warning', 'failed']),
          detail: named('what the check found'),
          todo: named('what to do about it'),
          since: timestamp.meta({ description: 'since when' }),
        }),
      )
      .meta({ description: 'checks that found something' }),
  })
  .meta({ id: 'SourceDesk' })

const senderSchema = z.object({ id: z.string(), name: z.string(), week: trafficSchema }).meta({ id: 'SenderDesk' })
const dmarcSchema = z
  .object({
    domain: named('the domain in From'),
    address: named('the IP address that sent it'),
    source: nullableText.meta({ description: 'the source with this address; null: it is not ours' }),
    messages: count.meta({ description: 'messages of 7 days that receivers reported' }),
    failed: count.meta({ description: 'those of them that failed DMARC' }),
    reporter: named('who reported the most of it'),
    since: timestamp.meta({ description: 'since when it fails' }),
  })
  .meta({ id: 'DmarcFailure' })

const actions = z.array(actionSchema).meta({ description: 'the three most useful next actions, the most urgent first' })
const common = {
  at: timestamp.meta({ description: 'when this was read' }),
  dmarc: z.array(dmarcSchema).meta({ description: 'what reports of receivers say about authentication' }),
}
const operatorResponse = envelope(
  z.object({
    actions,
    ...common,
    receivers: z.array(operatorReceiverSchema).meta({ description: 'the largest receivers, by mail' }),
    sources: z.array(sourceSchema).meta({ description: 'the sending addresses' }),
    workspaces: z.array(senderSchema).meta({ description: 'the largest workspaces of the week' }),
  }),
)
const workspaceResponse = envelope(
  z.object({
    actions,
    ...common,
    receivers: z.array(receiverSchema).meta({ description: 'the largest receivers, by mail' }),
    domains: z.array(senderSchema).meta({ description: 'the domains of From addresses of the week' }),
  }),
)

const DESCRIPTION =
  'Counts are those of the statistics: of the last 24 hours and 7 days, up to date within seconds. The actions are ' +
  'found by the rules that the guide on deliverability lists.'

const get = route({
  name: 'get-deliverability',
  summary: 'Get what happens to the mail of the workspace at each receiver, and the next actions',
  description: DESCRIPTION,
  method: 'GET',
  paths: ['/public/deliverability'],
  access: { admin: 'statistics:read' },
  status: 200,
  response: workspaceResponse,
  errors: [],
  handle: async (ctx, { caller }) => {
    const desk = await readDesk(ctx, caller.workspaceId)
    const receivers = desk.receivers.map(presentReceiver)
    return respond(desk, { receivers, domains: desk.senders })
  },
})

const getAll = route({
  name: 'admin-get-deliverability',
  summary: 'Get what happens to all mail at each receiver, the state of the sources, and the next actions',
  description: DESCRIPTION,
  method: 'GET',
  paths: ['/admin/deliverability'],
  access: 'operator',
  status: 200,
  response: operatorResponse,
  errors: [],
  handle: async (ctx) => {
    const desk = await readDesk(ctx, null)
    const receivers = desk.receivers.map((one) => ({
      ...presentReceiver(one),
      warm_ups: one.warmUps,
      sources: one.sources,
    }))
    const sources = desk.sources.map(({ name, address, state, day, problems }) => ({
      name,
      address,
      state,
      day,
      problems: problems.map(({ since, ...problem }) => ({ ...problem, since: since.toISOString() })),
    }))
    return respond(desk, { receivers, sources, workspaces: desk.senders })
  },
})

export const DELIVERABILITY_ROUTES: readonly AnyRoute[] = [get]
export const ADMIN_DELIVERABILITY_ROUTES: readonly AnyRoute[] = [getAll]

function respond(desk: Desk, rest: object): ApiResponse {
  const found = nextActions(desk)
  const message = found.length === 0 ? 'Nothing to do.' : `${countText(found.length, 'action')}.`
  const dmarc = desk.dmarc.map(({ since, ...one }) => ({ ...one, since: since.toISOString() }))
  const data = { at: desk.at.toISOString(), actions: found.map(presentAction), dmarc, ...rest }
  return { body: { success: true, message, data } }
}

function presentAction({ rule, subject, title, todo, evidence, reply, since }: NextAction): object {
  const guide = `/docs/guides/${ACTION_RULES[rule].guide}`
  return {
    rule,
    subject,
    title: title.text,
    title_translation: findTranslation(title),
    todo: todo.text,
    todo_translation: findTranslation(todo),
    evidence: evidence.map(({ text }) => text),
    evidence_translations: evidence.map(findTranslation),
    reply,
    since: since?.toISOString() ?? null,
    guide,
  }
}

function presentSeries(series: readonly TrafficAt[]): object[] {
  return series.map(({ at, traffic }) => ({ start: at.toISOString(), traffic }))
}

function presentReceiver({ name, title, domains, day, week, hours, days, encrypted, ...one }: ReceiverDesk): object {
  const [reasons, throttles] = [
    one.reasons.map(({ since, ...reason }) => ({ ...reason, since: since?.toISOString() ?? null })),
    one.throttles.map(({ since, until, ...throttle }) => ({
      ...throttle,
      since: since.toISOString(),
      until: until?.toISOString() ?? null,
    })),
  ]
  const series = { hours: presentSeries(hours), days: presentSeries(days) }
  return { name, title, domains, day, week, ...series, encrypted, reasons, throttles }
}
