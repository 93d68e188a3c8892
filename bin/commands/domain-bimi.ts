/**
 * `mailstead domain bimi`: sets the files of the BIMI record of a domain, and shows the record and what receivers would
 * find now. Without options it changes nothing.
 */
import { type CommandCall, UsageError } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { checkBimi, summarizeBimi, type BimiFinding } from '#src/domains/bimi-check.ts'
import { setBimiFiles } from '#src/domains/bimi-files.ts'
import { bimiName, bimiRecordValue, readBrandUrl, type BimiFiles } from '#src/domains/bimi-record.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { requireDomain } from './find-domain.ts'

export function showBimi(call: CommandCall): Promise<number> {
  const [logo, certificate] = [readUrl(call, 'logo'), readUrl(call, 'certificate')]
  const isRemoved = call.has('remove')
  if (isRemoved && (logo ?? certificate) !== null) throw new UsageError('--remove excludes --logo and --certificate')
  return withContext(call.io, async (ctx) => {
    const found = await requireDomain(ctx.db, call.argument(0), call.option('workspace'))
    const { id, workspaceId, domain, bimi } = found
    const logoUrl = logo ?? bimi?.logoUrl ?? null
    if (logoUrl === null && certificate !== null)
      return call.fail(`No logo is set for ${domain}.`, 'Name the logo, too: --logo URL')
    const changed: BimiFiles | null =
      isRemoved || logoUrl === null ? null : { logoUrl, certificateUrl: certificate ?? bimi?.certificateUrl ?? null }
    const isChange = isRemoved || (logo ?? certificate) !== null
    if (isChange && (await setBimiFiles(ctx, workspaceId, id, changed)) === null)
      return call.fail(`${domain} was removed meanwhile.`, 'See mailstead domain list.')
    const files = isChange ? changed : bimi
    const http = createHttpClient(ctx.config)
    const deps = { dns: createDomainDns(ctx.config), http, nowMs: ctx.clock.now() }
    const findings = await checkBimi(deps, domain, files).finally(() => http.close())
    return call.respond(textOf(domain, files, findings), {
      domain,
      record: files === null ? null : { name: bimiName(domain), value: bimiRecordValue(files) },
      ...summarizeBimi(findings),
      findings,
    })
  })
}

function readUrl(call: CommandCall, option: 'logo' | 'certificate'): string | null {
  const text = call.option(option)
  if (text === null) return null
  const read = readBrandUrl(text)
  if (!read.ok) throw new UsageError(`--${option} ${read.reason}`)
  return read.url
}

function textOf(domain: string, files: BimiFiles | null, findings: readonly BimiFinding[]): string {
  const proposed =
    files === null
      ? [`No logo is set for ${domain}. Set it with --logo URL.`]
      : ['Publish this DNS record:', `  ${bimiName(domain)} TXT "${bimiRecordValue(files)}"`]
  const lines = findings.flatMap(({ subject, status, message, next }) => [
    `  ${subject.padEnd(11)} ${status.padEnd(7)} ${message}`,
    ...(next === null ? [] : [`${' '.repeat(22)}→ ${next}`]),
  ])
  return [...proposed, '', ...lines].join('\n')
}
