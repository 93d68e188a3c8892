/** One import: it can be left and found again. */
import { useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { cancelImport, getAudience, getImport, type ContactImport } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { ByteSize } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { ImportErrors } from './import-errors.tsx'
import { ImportCounts, ImportProgress, ImportState, isOpen } from './import-progress.tsx'

export function ImportPage(): ReactNode {
  const { imports } = useTexts()
  const path = useWorkspacePath()
  const { id = '' } = useParams({ strict: false })
  const query = useApi(getImport, { params: { id } })
  const found = query.data?.data
  if (query.isError) return <FailedQuery query={query} title={imports.notLoaded} />
  return (
    <>
      <PageHeader
        title={found?.dryRun === true ? imports.trialTitle : imports.importTitle}
        status={found === undefined ? undefined : <ImportState found={found} />}
        breadcrumbs={[{ label: imports.title, href: path('/contacts/imports') }]}
        actions={found === undefined ? undefined : <ImportActions found={found} />}
      />
      {found === undefined ? <SkeletonLines lines={6} /> : <ImportDetails found={found} />}
    </>
  )
}

function ImportDetails({ found }: { readonly found: ContactImport }): ReactNode {
  const { imports } = useTexts()
  return (
    <div className="flex flex-col gap-8">
      <ImportProgress found={found} />
      {isOpen(found) && <p className="text-muted">{imports.mayLeave}</p>}
      <ImportCounts found={found} />
      {found.rows.failed > 0 && !isOpen(found) && <ImportErrors id={found.id} failed={found.rows.failed} />}
      <div className="grid gap-8 lg:grid-cols-2">
        <Section title={imports.details}>
          <Card>
            <KeyValueList items={useDetails(found)} />
          </Card>
        </Section>
        <Section title={imports.columns}>
          <Card>
            <KeyValueList
              items={found.columns.map(({ column, meaning }, index) => ({
                key: index.toString(),
                label: column,
                value:
                  meaning === 'ignore' ? <Badge>{imports.ignored}</Badge> : <code className="text-sm">{meaning}</code>,
              }))}
            />
          </Card>
        </Section>
      </div>
    </div>
  )
}

function useDetails(found: ContactImport) {
  const { imports } = useTexts()
  const path = useWorkspacePath()
  const { data } = useApi(getAudience, { query: { id: found.audienceId } })
  return [
    {
      label: imports.audience,
      value: <LinkText href={path(`/audiences/${found.audienceId}`)}>{data?.data.name ?? '…'}</LinkText>,
    },
    { label: imports.size, value: <ByteSize bytes={found.bytes} /> },
    { label: imports.started, value: <DateTime value={found.createdAt} precision="second" /> },
    ...(found.finishedAt === null
      ? []
      : [{ label: imports.finished, value: <DateTime value={found.finishedAt} precision="second" /> }]),
  ]
}

function ImportActions({ found }: { readonly found: ContactImport }): ReactNode {
  const { imports } = useTexts()
  const path = useWorkspacePath()
  const canWrite = useCan()('contacts:write')
  const [isAsking, setAsking] = useState(false)
  const cancel = useAction(cancelImport, {
    invalidates: ['/public/contacts/imports'],
    onSuccess: () => setAsking(false),
  })
  if (!isOpen(found))
    return <ButtonLink href={path(`/audiences/${found.audienceId}`)}>{imports.showContacts}</ButtonLink>
  if (!canWrite) return null
  return (
    <>
      <Button variant="danger" onClick={() => setAsking(true)}>
        {imports.cancel}
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onOpenChange={setAsking}
        title={imports.cancelTitle}
        text={imports.cancelText}
        confirmLabel={imports.cancel}
        isDanger
        isLoading={cancel.isPending}
        onConfirm={() => cancel.mutate({ params: { id: found.id } })}
      />
    </>
  )
}
