import type { ReactNode } from 'react'
import { adminGetDeliverability } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Loaded } from './loaded.tsx'
import { ReceiverTable } from '#dashboard/src/shared/receiver-table.tsx'

/** The mail providers that mail of this installation goes to. */
export function ReceiversPage(): ReactNode {
  const { operator } = useTexts()
  const query = useApi(adminGetDeliverability, {})
  return (
    <>
      <PageHeader title={operator.receivers.title} description={operator.receivers.description} />
      <Loaded query={query}>
        {({ data }) => (
          <ReceiverTable
            receivers={data.receivers}
            getHref={(name) => operatorPath(`/receivers/${encodeURIComponent(name)}`)}
          />
        )}
      </Loaded>
    </>
  )
}
