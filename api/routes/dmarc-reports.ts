/**
 * DMARC reports about the sending domains of a workspace: totals, sources with the next step for each, and the reports
 * themselves; and for the operator the totals of all domains. Only verified reports count. The names of sources and
 * reporters come from strangers. A domain of another workspace is not found.
 */
import { z } from 'zod'
import { DMARC_POLICIES } from '#src/dmarc/aggregate-report.ts'
import { DOMAIN_STEPS, SOURCE_STEPS, type NextStep } from '#src/dmarc/next-steps.ts'
import { dmarcReportAddress } from '#src/dmarc/received-queue.ts'
import { listDmarcReports, serializeDmarcReport } from '#src/dmarc/received.ts'
import {
  listDmarcDomains,
  summarizeDmarc,
  type DmarcPeriod,
  type DmarcSource,
  type DmarcTotals,
} from '#src/dmarc/summary.ts'
import { findDomain } from '#src/domains/domains.ts'
import { invalid, type Refusal } from '#src/platform/errors.ts'
import { countText } from '#src/platform/plural.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, nextCursorField, timestamp } from '#api/http/response-schemas.ts'
import { NO_DOMAIN } from './domain-view.ts'

const ACCESS = { admin: 'domains:manage' } as const
const DAY_MS = 24 * 3_600_000
const DEFAULT_DAYS = 30
const MAX_DAYS = 90
const MAX_SOURCES = 1000
const GUIDE = '/docs/guides/dmarc-reports'

const byDomain = z.object({ domainID: z.string().meta({ description: 'the id or the name of the domain' }) })
const day = z.iso.date('must be a day, such as 2026-01-31')
const periodFields = {
  from: day.optional().meta({ description: `the first day, in UTC. By default ${DEFAULT_DAYS} days before the last` }),
  to: day.optional().meta({ description: 'the last day, in UTC, which is included. By default today' }),
}
const count = z.int().min(0)
const shownDay = (description: string): z.ZodType => z.string().meta({ description, examples: ['2026-01-31'] })
const idOfDomain = z.uuid().meta({ description: 'the id of the domain' })
const policy = z.enum(DMARC_POLICIES)
const policySchema = z
  .object({
    domain: z.string().meta({ description: 'the domain whose DMARC record applied' }),
    p: policy.meta({ description: 'the policy' }),
    sp: policy.nullable().meta({ description: 'the policy of subdomains; null: the same' }),
    pct: count.meta({ description: 'the percentage of failing mail that the policy applies to' }),
  })
  .meta({ id: 'DmarcPolicy' })

const totalFields = {
  messages: count.meta({ description: 'messages in verified reports' }),
  passed: count.meta({ description: 'those that passed DMARC: DKIM or SPF is aligned with the domain in From' }),
  failed: count.meta({ description: 'those that did not' }),
  dkim_aligned: count.meta({ description: 'those with an aligned DKIM signature' }),
  spf_aligned: count.meta({ description: 'those with aligned SPF' }),
  quarantined: count.meta({ description: 'those that receivers treated as spam' }),
  rejected: count.meta({ description: 'those that receivers refused' }),
}

const nextStepOf = <T extends readonly [string, ...string[]]>(codes: T): z.ZodType =>
  z.object({
    code: z.enum(codes).meta({ description: 'a name of the case that does not change' }),
    text: z.string().meta({ description: 'what to do' }),
    url: z.string().meta({ description: 'where the guide explains it' }),
  })

const sourceSchema = z
  .object({
    address: z.string().meta({ description: 'the IP address that sent the mail' }),
    name: z.string().nullable().meta({ description: 'its host name (PTR); null: none, or not looked up yet' }),
    is_name_confirmed: z.boolean().meta({ description: 'false: the name does not lead back to the address' }),
    organization: z.string().nullable().meta({ description: 'the registered domain of a confirmed name' }),
    is_ours: z.boolean().meta({ description: 'this installation sends from that address' }),
    ...totalFields,
    forwarded: count.meta({ description: 'failed messages that the receiver knows were forwarded' }),
    authenticated_as: z.string().nullable().meta({ description: 'a domain that failed messages authenticate as' }),
    header_from: z.array(z.string()).meta({ description: 'domains in From, at most ten' }),
    first_day: shownDay('the first day in this period'),
    last_day: shownDay('the last day in this period'),
    next_step: nextStepOf(SOURCE_STEPS).meta({ description: 'what to do about this source' }),
  })
  .meta({ id: 'DmarcSource' })

const summarySchema = z
  .object({
    domain: z.string(),
    domain_id: idOfDomain,
    from: shownDay('the first day of the period'),
    to: shownDay('the last day of the period'),
    report_address: z.string().meta({ description: 'what rua in the DMARC record must name' }),
    policy: policySchema.nullable().meta({ description: 'from the newest verified report; null: there is none' }),
    reports: count.meta({ description: 'verified reports in the period' }),
    unverified_reports: count.meta({ description: 'reports that nothing proves; they count nowhere else' }),
    days: count.meta({ description: 'days with reports' }),
    totals: z.object(totalFields).meta({ description: 'of all sources' }),
    reporters: z
      .array(
        z.object({
          organization: z.string().meta({ description: 'as the report names it' }),
          signer: z.string().meta({ description: 'the domain that proves the reports' }),
          messages: count.meta({ description: 'messages in its reports' }),
        }),
      )
      .meta({ description: 'who reports, those with most messages first' }),
    sources: z.array(sourceSchema).meta({ description: 'the sources with most messages' }),
    source_count: count.meta({ description: 'all sources in the period' }),
    next_step: nextStepOf(DOMAIN_STEPS).meta({ description: 'what to do about the policy of the domain' }),
  })
  .meta({ id: 'DmarcSummary' })

const summary = route({
  name: 'get-dmarc-summary',
  summary: 'Show what DMARC reports say about a domain, by source, with the next steps',
  description: 'Receivers report a day after it ends. Only reports whose author DKIM or SPF proves are counted.',
  method: 'GET',
  paths: ['/public/domains/dmarc/:domainID'],
  access: ACCESS,
  params: byDomain,
  query: z.object({
    ...periodFields,
    limit: z.coerce.number().int().min(1).max(MAX_SOURCES).default(100).meta({ description: 'sources to list' }),
  }),
  status: 200,
  response: envelope(summarySchema),
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { caller, params, query }) => {
    const period = readDays(query, ctx.clock.now())
    if (isRefusal(period)) return period
    const domain = await findDomain(ctx.db, caller.workspaceId, params.domainID)
    if (domain === null) return NO_DOMAIN
    const options = { maxSources: query.limit, serverName: ctx.config.serverName }
    const found = await summarizeDmarc(ctx.db, domain.id, period, options)
    const step = (one: NextStep): object => presentStep(one, ctx.config.publicUrl)
    const data = {
      domain: domain.domain,
      domain_id: domain.id,
      ...period,
      report_address: dmarcReportAddress(ctx.config),
      policy: found.policy,
      reports: found.reports,
      unverified_reports: found.unverifiedReports,
      days: found.days,
      totals: presentTotals(found.totals),
      reporters: found.reporters,
      sources: found.sources.map((source) => presentSource(source, step)),
      source_count: found.sourceCount,
      next_step: step(found.nextStep),
    }
    return { body: { success: true, message: found.nextStep.text, data } }
  },
})

const reportSchema = z
  .object({
    id: z.uuid(),
    domain: z.string(),
    organization: z.string().meta({ description: 'who reports, as the report says' }),
    report_id: z.string().meta({ description: 'the id that the reporter gave it' }),
    signer: z.string().nullable().meta({ description: 'the domain that DKIM or SPF proves; null: nothing proves it' }),
    is_counted: z.boolean().meta({ description: 'false: not verified, so it counts nowhere' }),
    begins_at: timestamp,
    ends_at: timestamp.meta({ description: 'when the period of the report ends' }),
    policy: policySchema.meta({ description: 'the policy that the reporter found' }),
    messages: count.meta({ description: 'messages that it reports of this domain' }),
    passed: totalFields.passed,
    failed: totalFields.failed,
  })
  .meta({ id: 'DmarcReport' })

const reports = route({
  name: 'list-dmarc-reports',
  summary: 'List the DMARC reports about a domain, newest first, also those that are not counted',
  method: 'GET',
  paths: ['/public/domains/dmarc-reports/:domainID'],
  access: ACCESS,
  params: byDomain,
  query: z.object({ limit: paging.shape.limit, cursor: paging.shape.cursor }),
  status: 200,
  response: envelope(z.object({ reports: z.array(reportSchema), ...nextCursorField })),
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, request) => {
    const domain = await findDomain(ctx.db, request.caller.workspaceId, request.params.domainID)
    if (domain === null) return NO_DOMAIN
    const page = openPage(ctx, 'list-dmarc-reports', request)
    if (isRefusal(page)) return page
    const { items, next } = await listDmarcReports(ctx.db, domain.id, page)
    const data = { reports: items.map(serializeDmarcReport), ...nextCursor(next, page) }
    return { body: { success: true, message: `${countText(items.length, 'report')}.`, data } }
  },
})

const overview = route({
  name: 'admin-get-dmarc',
  summary: 'Show the totals of DMARC reports by domain, those with most failures first',
  method: 'GET',
  paths: ['/admin/dmarc'],
  access: 'operator',
  query: z.object({
    ...periodFields,
    limit: z.coerce.number().int().min(1).max(MAX_SOURCES).default(100).meta({ description: 'domains to list' }),
  }),
  status: 200,
  response: envelope(
    z.object({
      from: shownDay('the first day of the period'),
      to: shownDay('the last day of the period'),
      domains: z.array(
        z
          .object({
            domain: z.string(),
            domain_id: idOfDomain,
            workspace_id: z.uuid(),
            sources: count.meta({ description: 'different IP addresses' }),
            ...totalFields,
          })
          .meta({ id: 'DmarcDomain' }),
      ),
    }),
  ),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { query }) => {
    const period = readDays(query, ctx.clock.now())
    if (isRefusal(period)) return period
    const found = await listDmarcDomains(ctx.db, period, query.limit)
    const domains = found.map(({ domainId, domain, workspaceId, sources, ...totals }) => ({
      domain,
      domain_id: domainId,
      workspace_id: workspaceId,
      sources,
      ...presentTotals(totals),
    }))
    const message = `${countText(domains.length, 'domain')} with DMARC reports.`
    return { body: { success: true, message, data: { ...period, domains } } }
  },
})

interface GivenDays {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

function readDays(given: GivenDays, nowMs: number): DmarcPeriod | Refusal {
  const to = given.to ?? dayOf(nowMs)
  const from = given.from ?? dayOf(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS)
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS
  if (days < 0) return invalid([{ path: 'from', message: 'must not be after to' }])
  return days < MAX_DAYS
    ? { from, to }
    : invalid([{ path: 'from', message: `is more than ${MAX_DAYS} days before to` }])
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function presentTotals(totals: DmarcTotals): Record<string, number> {
  const { messages, passed, dkimAligned, spfAligned, quarantined, rejected } = totals
  return {
    messages,
    passed,
    failed: messages - passed,
    dkim_aligned: dkimAligned,
    spf_aligned: spfAligned,
    quarantined,
    rejected,
  }
}

function presentSource(source: DmarcSource, step: (one: NextStep) => object): Record<string, unknown> {
  return {
    address: source.address,
    name: source.name,
    is_name_confirmed: source.isNameConfirmed,
    organization: source.organization,
    is_ours: source.isOurs,
    ...presentTotals(source),
    forwarded: source.forwarded,
    authenticated_as: source.otherDomain,
    header_from: source.headerFrom,
    first_day: source.firstDay,
    last_day: source.lastDay,
    next_step: step(source.nextStep),
  }
}

function presentStep({ code, text, anchor }: NextStep, publicUrl: string): object {
  return { code, text, url: `${publicUrl}${GUIDE}#${anchor}` }
}

export const DMARC_ROUTES: readonly AnyRoute[] = [summary, reports, overview]
