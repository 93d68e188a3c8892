/** `mailstead domain`: sending domains, their DNS records, verification and DKIM key rotation. */
import { runActions } from '#bin/cli/actions.ts'
import { choose, type CliActions, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { countText } from '#src/platform/plural.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { requireWorkspace } from '#bin/cli/find-workspace.ts'
import type { Config } from '#config/load.ts'
import { DEFAULT_REGION, REGION_NAMES, REGIONS, type Region } from '#config/regions.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { addDomain, type Domain, findDomain, listDomains, trustDomain } from '#src/domains/domains.ts'
import { removeDomain } from '#src/domains/domain-removal.ts'
import { readDomainName } from '#src/domains/domain-name.ts'
import { type DnsRecord, domainRecords, serviceHostsOf, returnPathRecords } from '#src/domains/records.ts'
import { listZoneRecords, quotedValue, republishZone, type ZoneRecord } from '#src/domains/dkim-zone.ts'
import { isUsed } from '#src/domains/inspect-records.ts'
import { recommendationsOf } from '#src/domains/recommendations.ts'
import { rotateDkimKeys } from '#src/domains/key-rotation.ts'
import { type Verification, verifyDomain } from '#src/domains/verify-domain.ts'
import { isUuid } from '#src/platform/id.ts'
import { timeText } from '#src/platform/time-text.ts'
import { showBimi } from './domain-bimi.ts'
import { requireDomain } from './find-domain.ts'

const MAX_LISTED = 10_000

const ACTIONS: CliActions = {
  add: {
    summary: 'add a sending domain and print its DNS records',
    examples: ['add --workspace Acme example.com'],
    usage: `add --workspace ID D [--region ${REGION_NAMES.join('|')}] [--txt]`,
    options: ['workspace', 'region'],
    flags: ['txt'],
    arguments: [1, 1],
    run: (call) => {
      const name = readName(call.argument(0))
      const workspaceText = call.required('workspace')
      const region = readRegion(call.option('region'))
      const dkimRecords = call.has('txt') ? 'txt' : 'cname'
      return withContext(call.io, async (ctx) => {
        const workspace = await requireWorkspace(ctx.db, workspaceText)
        const added = await addDomain(ctx, { workspaceId: workspace.id, name, region, dkimRecords })
        if (added.kind === 'invalid')
          return call.fail(`${name} is not added: ${added.reason}.`, 'Use a domain such as mail.example.com.')
        if (!('domain' in added))
          return call.fail('The workspace was deleted meanwhile.', 'See mailstead workspace list.')
        const { domain } = added
        const present = `The workspace has ${name} already (${domain.id}, ${domain.status}).`
        const head = added.kind === 'added' ? `Domain ${name} (${domain.id}) is added.` : present
        const records = recordsText(domain, ctx.config)
        const text = `${head} Publish these DNS records:\n\n${records}\n\nThen: mailstead domain verify ${name}`
        return call.respond(text, toJson(domain, ctx.config))
      })
    },
  },
  verify: {
    summary: 'check the DNS records of a domain now',
    examples: ['verify example.com', 'verify example.com --trust'],
    usage: 'verify D [--trust] [--workspace ID]',
    options: ['workspace'],
    flags: ['trust'],
    arguments: [1, 1],
    run: (call) => {
      const text = isUuid(call.argument(0)) ? call.argument(0) : readName(call.argument(0))
      return withContext(call.io, async (ctx) => {
        const domain = await requireDomain(ctx.db, text, call.option('workspace'))
        if (!call.has('trust')) return report(call, await verifyDomain(ctx, createDomainDns(ctx.config), domain))
        const kind = await trustDomain(ctx.db, domain.id)
        return report(call, {
          kind,
          checks: [],
          domain: (await findDomain(ctx.db, domain.workspaceId, domain.id)) ?? domain,
        })
      })
    },
  },
  rotate: {
    summary: 'create new DKIM keys for a domain; --delegate makes its records CNAMEs to DKIM_ZONE',
    examples: ['rotate example.com', 'rotate example.com --delegate'],
    usage: 'rotate D [--delegate] [--workspace ID]',
    options: ['workspace'],
    flags: ['delegate'],
    arguments: [1, 1],
    run: (call) => {
      const text = isUuid(call.argument(0)) ? call.argument(0) : readName(call.argument(0))
      return withContext(call.io, async (ctx) => {
        const { workspaceId, id } = await requireDomain(ctx.db, text, call.option('workspace'))
        const rotation = await rotateDkimKeys(ctx, { workspaceId, id, delegate: call.has('delegate') })
        if (rotation.kind === 'not-found')
          return call.fail(`${text} was removed meanwhile.`, 'See mailstead domain list.')
        const { kind, domain } = rotation
        if (kind === 'not-verified')
          return call.fail(
            `${domain.domain} is ${domain.status}: its keys are not in use yet.`,
            `Publish its records, then run mailstead domain verify ${domain.domain}`,
          )
        if (kind === 'no-zone')
          return call.fail('DKIM_ZONE is not set.', 'Set it to a zone of yours first: docs/guides/dkim-rotation.md')
        if (kind === 'too-soon')
          return call.fail(
            `The previous keys of ${domain.domain} still verify mail in transit.`,
            `Run this again after ${timeText(new Date(rotation.untilMs))}.`,
          )
        const head = kind === 'begun' ? 'New DKIM keys are created.' : 'A key rotation is in progress.'
        const what =
          domain.dkimZone === null
            ? 'Publish the records of the next key. It signs once they have been in DNS for 10 minutes:'
            : 'They sign once these CNAME records lead to them. Records that are in DNS already need no change:'
        return call.respond(`${head} ${what}\n\n${recordsText(domain, ctx.config)}`, toJson(domain, ctx.config))
      })
    },
  },
  bimi: {
    summary: 'show and check the BIMI record of a domain; --logo and --certificate set its files',
    examples: ['bimi example.com', 'bimi example.com --logo https://www.example.com/logo.svg'],
    usage: 'bimi D [--logo URL] [--certificate URL] [--remove] [--workspace ID]',
    options: ['logo', 'certificate', 'workspace'],
    flags: ['remove'],
    arguments: [1, 1],
    about: {
      logo: 'https URL of the logo, an SVG Tiny PS file',
      certificate: 'https URL of the mark certificate (VMC or CMC)',
      remove: 'propose no BIMI record any more',
    },
    run: (call) => showBimi(call),
  },
  zone: {
    summary: 'print the records of DKIM_ZONE, in the form of a zone file; --publish runs DKIM_ZONE_COMMAND for all',
    usage: 'zone [--pending] [--publish]',
    examples: ['zone', 'zone --pending', 'zone --publish'],
    flags: ['pending', 'publish'],
    run: (call) =>
      withContext(call.io, async ({ db, config }) => {
        if (call.has('publish')) {
          const count = await republishZone(db)
          const how = config.dkimZoneCommand === null ? 'looks for' : 'publishes'
          return call.respond(`The worker ${how} ${countText(count, 'record')} now.`, { records: count })
        }
        const records = await listZoneRecords(db, { pendingOnly: call.has('pending') })
        return call.respond(zoneText(records, config), records)
      }),
  },
  remove: {
    summary: 'remove a domain: its keys stop working, and its queued mail fails',
    usage: 'remove D [--workspace ID]',
    examples: ['remove example.com', 'remove example.com --workspace Acme'],
    options: ['workspace'],
    arguments: [1, 1],
    run: (call) => {
      const text = isUuid(call.argument(0)) ? call.argument(0) : readName(call.argument(0))
      return withContext(call.io, async (ctx) => {
        const { id, domain, workspaceId } = await requireDomain(ctx.db, text, call.option('workspace'))
        if (!(await removeDomain(ctx, workspaceId, id)))
          return call.fail(`${text} was removed meanwhile.`, 'See mailstead domain list.')
        return call.respond(`${domain} is removed. Its keys stop working, and its queued mail fails.`, {
          id,
          removed: true,
        })
      })
    },
  },
  list: {
    summary: 'list sending domains and their status',
    examples: ['list', 'list --workspace Acme'],
    usage: 'list [--workspace ID]',
    options: ['workspace'],
    run: (call) =>
      withContext(call.io, async ({ db, config }) => {
        const workspace = call.option('workspace')
        const rows = await listDomains(
          db,
          workspace === null ? null : (await requireWorkspace(db, workspace)).id,
          MAX_LISTED,
        )
        const text = tableText(
          ['ID', 'WORKSPACE', 'STATE', 'DOMAIN'],
          rows.map((row) => [row.id, row.workspaceId, row.status, row.domain]),
        )
        return call.respond(
          rows.length === 0 ? 'No sending domains.' : text,
          rows.map((row) => toJson(row, config)),
        )
      }),
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('domain', ACTIONS, args, io)
}

function readName(text: string): string {
  const read = readDomainName(text)
  if (!read.ok) throw new UsageError(`${JSON.stringify(text)} is not a valid domain: ${read.reason}`)
  return read.name
}

function readRegion(text: string | null): Region {
  return choose('--region', REGION_NAMES, text ?? DEFAULT_REGION)
}

function report(call: CommandCall, { kind, checks, domain }: Omit<Verification, 'notifications'>): number {
  const lines = checks
    .filter(isUsed)
    .map(
      (check) => `  ${check.status === 'ok' ? 'ok     ' : check.isRequired ? 'MISSING' : 'advised'} ${check.message}`,
    )
  const json = {
    id: domain.id,
    domain: domain.domain,
    verification_status: domain.status,
    verified_at: domain.verifiedAt,
    checks: checks.map(({ isRequired, ...check }) => ({ ...check, required: isRequired })),
  }
  const advice = recommendationsOf(domain).map(({ text }) => text)
  call.respond([headline(domain, kind), ...lines, ...advice].join('\n'), { ...json, recommendations: advice })
  return kind === 'verified' ? 0 : 1
}

function headline({ domain }: Domain, kind: Verification['kind']): string {
  if (kind === 'verified') return `${domain} is verified and may send.`
  if (kind === 'taken') return `${domain} is verified for another workspace. See mailstead domain list.`
  if (kind === 'not-found') return `${domain} was removed meanwhile.`
  return `${domain} is not verified. DNS may take some minutes to show a new record.`
}

/** Lines of a zone file; what must not be there is a comment. */
function zoneText(records: readonly ZoneRecord[], { dkimZone, dkimZoneTtlSeconds }: Config): string {
  if (records.length === 0)
    return dkimZone === null ? '; DKIM_ZONE is not set, and no domain is delegated' : '; there is no record'
  return records
    .map(({ name, value }) =>
      value === null ? `; remove ${name}.` : `${name}. ${dkimZoneTtlSeconds} IN TXT ${quotedValue(value)}`,
    )
    .join('\n')
}

function listRecords(domain: Domain, config: Config): DnsRecord[] {
  const place = serviceHostsOf(config)
  return [...domainRecords(domain, place), ...returnPathRecords(place)]
}

function toJson(domain: Domain, config: Config): Record<string, unknown> {
  return {
    id: domain.id,
    domain: domain.domain,
    workspace_id: domain.workspaceId,
    verification_status: domain.status,
    mail_from_status: domain.mailFromStatus,
    region: domain.region,
    egress_pool: REGIONS[domain.region].pool,
    verified_at: domain.verifiedAt,
    created_at: domain.createdAt,
    dns_records: listRecords(domain, config).map(({ isRequired, ...record }) => ({ ...record, required: isRequired })),
  }
}

function recordsText(domain: Domain, config: Config): string {
  return tableText(
    ['', 'TYPE', 'NAME', 'VALUE'],
    listRecords(domain, config).map(({ isRequired, type, name, value, priority }) => [
      isRequired ? 'required' : 'advised',
      type,
      name,
      priority === undefined ? value : `${priority} ${value}`,
    ]),
  )
}
