/** Mail that is not delivered yet, of all workspaces. Its views and filters are in the address. Live. */
import { CirclePause } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'
import { QueueActions } from './queue-actions.tsx'
import { QueueCounts } from './queue-counts.tsx'
import { QueueRecipients } from './queue-recipients.tsx'
import { SuspendDialog } from './suspend-dialog.tsx'
import { Suspensions } from './suspensions.tsx'

const VIEWS = ['waiting', 'counts', 'suspensions', 'actions'] as const
const CONTENTS: Readonly<Record<(typeof VIEWS)[number], () => ReactNode>> = {
  waiting: QueueRecipients,
  counts: QueueCounts,
  suspensions: Suspensions,
  actions: QueueActions,
}

export function QueuePage(): ReactNode {
  const { operator } = useTexts()
  const [search, changeSearch] = useAddressSearch()
  const view = VIEWS.find((one) => one === search['view']) ?? 'waiting'
  const Content = CONTENTS[view]
  return (
    <>
      <PageHeader
        title={operator.queue.title}
        description={operator.queue.description}
        actions={
          <Button icon={CirclePause} onClick={() => changeSearch({ suspend: 'domain' })}>
            {operator.queue.suspend}
          </Button>
        }
        tabs={
          <LinkTabs
            label={operator.queue.title}
            tabs={VIEWS.map((one) => ({
              href: operatorPath('/queue', one === 'waiting' ? {} : { view: one }),
              label: operator.queue.views[one],
              isCurrent: one === view,
            }))}
          />
        }
      />
      <Content />
      {search['suspend'] !== undefined && (
        <SuspendDialog
          kind={search['suspend']}
          subject={search['subject'] ?? ''}
          onClose={() => changeSearch({ suspend: undefined, subject: undefined })}
        />
      )}
    </>
  )
}
