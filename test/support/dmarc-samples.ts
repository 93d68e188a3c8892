/** Requests about a domain, and DMARC reports about it in the database. */
import { sql } from '#src/stores/sql.ts'
import type { TestApi } from './api.ts'
import type { MakeSample } from './request-samples.ts'
import type { TenantIds } from './tenant-objects.ts'

const ofDomain: MakeSample = ({ domain }) => ({ params: { domainID: domain } })
export const DOMAIN_SAMPLES: Readonly<Record<string, readonly MakeSample[]>> = {
  'domain-status': [ofDomain],
  'verify-domain': [ofDomain],
  'get-dmarc-summary': [ofDomain],
  'list-dmarc-reports': [ofDomain],
}

export const DMARC_LIST = [
  ({ domain }: Pick<TenantIds, 'domain'>): string => `/public/domains/dmarc-reports/${domain}`,
  'reports',
  { hasNoNumbers: true },
] as const

/** Five reports that are not verified. */
export async function addDmarcReports(api: TestApi, workspaceId: string, domainId: string): Promise<void> {
  await api.db.query(
    sql`
      INSERT INTO dmarc_reports (
        id, workspace_id, domain_id, organization, report_id, signer, begins_at, ends_at, policy_domain, policy,
        percent, messages, passed
      )
      SELECT gen_random_uuid(), $1, $2, 'o', 'r' || n, '', now(), now(), 'd', 'none', 100, 1, 1
      FROM generate_series(1, 5) n
    `,
    [workspaceId, domainId],
  )
}
