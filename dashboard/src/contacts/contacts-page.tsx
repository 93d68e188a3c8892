import { Download, Plus, Upload, UserRound } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { exportContacts } from '#dashboard/src/api/endpoints.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { ContactList } from '#dashboard/src/contact-list/contact-list.tsx'
import { contactQueryOf } from '#dashboard/src/contact-list/contact-filter.ts'
import { useDownload } from '#dashboard/src/shared/use-download.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { AddContactDialog } from './contact-form-dialog.tsx'
import { ContactTabs } from './contact-tabs.tsx'

export function ContactsPage(): ReactNode {
  const { contacts } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const [search, change] = useAddressSearch()
  const { audienceId, segmentId, status } = contactQueryOf(search)
  const download = useDownload(exportContacts, 'contacts.csv')
  const add = (
    <Button variant="primary" icon={Plus} onClick={() => change({ dialog: 'add' })}>
      {contacts.add}
    </Button>
  )
  const importLink = (
    <ButtonLink icon={Upload} href={path('/contacts/import', audienceId === undefined ? {} : { audience: audienceId })}>
      {contacts.import}
    </ButtonLink>
  )
  const isOnlySubscribed = status === 'subscribed' && audienceId !== undefined
  return (
    <>
      <PageHeader
        title={contacts.title}
        description={contacts.description}
        tabs={<ContactTabs current="contacts" />}
        actions={
          <>
            {can('contacts:export') && (
              <Button
                icon={Download}
                title={contacts.exportExplained}
                isLoading={download.isRunning}
                onClick={() =>
                  download.start({
                    query: {
                      ...(audienceId === undefined ? {} : { audienceId }),
                      ...(segmentId === undefined ? {} : { segmentId }),
                      ...(isOnlySubscribed ? { subscribedOnly: 'true' } : {}),
                    },
                  })
                }
              >
                {contacts.export}
              </Button>
            )}
            {can('contacts:write') && importLink}
            {can('contacts:write') && add}
          </>
        }
      />
      <ContactList
        empty={
          <EmptyState
            icon={UserRound}
            title={contacts.emptyTitle}
            text={contacts.emptyText}
            action={can('contacts:write') ? importLink : undefined}
            docsHref="/docs/guides/contacts-and-audiences"
          />
        }
      />
      {search['dialog'] === 'add' && (
        <AddContactDialog audienceId={audienceId ?? null} onClose={() => change({ dialog: undefined })} />
      )}
    </>
  )
}
