/** One workspace, as the operator sees it: plan and usage, suspension, keys, and domains that need no DNS proof. */
import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { adminGetWorkspace, adminListSuspensions, type AdminGetWorkspaceAnswer } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Meter } from '#dashboard/src/ui/meter.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { Loaded } from './loaded.tsx'
import { SuspendDialog } from './suspend-dialog.tsx'
import { useResume } from './suspensions.tsx'
import { ChangeWorkspaceDialog, TrustDomainDialog } from './workspace-dialogs.tsx'
import { WorkspaceKeys } from './workspace-keys.tsx'

type WorkspaceDetails = AdminGetWorkspaceAnswer['data']

export function WorkspacePage(): ReactNode {
  const { id = '' } = useParams({ strict: false })
  const { administration } = useTexts()
  const query = useApi(adminGetWorkspace, { params: { workspace: id } })
  const workspace = query.data?.data
  return (
    <>
      <PageHeader
        title={workspace?.name ?? administration.workspaces.title}
        status={workspace === undefined ? undefined : <Badge>{workspace.plan}</Badge>}
        breadcrumbs={[{ label: administration.workspaces.title, href: operatorPath('/workspaces') }]}
        actions={workspace === undefined ? undefined : <WorkspaceActions />}
      />
      <Loaded query={query}>
        {({ data }) => (
          <div className="flex flex-col gap-8">
            <SuspensionState workspace={data} />
            <WorkspaceFacts workspace={data} />
            <WorkspaceKeys workspaceId={data.id} />
            <WorkspaceDialogs workspace={data} />
          </div>
        )}
      </Loaded>
    </>
  )
}

function WorkspaceActions(): ReactNode {
  const { id = '' } = useParams({ strict: false })
  const { administration } = useTexts()
  const { workspaces: texts } = administration
  const [, changeSearch] = useAddressSearch()
  return (
    <>
      <ButtonLink href={operatorPath('/queue', { workspace: id })}>{texts.waiting}</ButtonLink>
      <ButtonLink href={operatorPath('/audit', { workspace_id: id })}>{texts.audit}</ButtonLink>
      <Button onClick={() => changeSearch({ open: 'trust' })}>{texts.trust}</Button>
      <Button onClick={() => changeSearch({ open: 'change' })}>{texts.change}</Button>
    </>
  )
}

interface WorkspaceProps {
  readonly workspace: WorkspaceDetails
}

function WorkspaceDialogs({ workspace }: WorkspaceProps): ReactNode {
  const [search, changeSearch] = useAddressSearch()
  const close = (): void => changeSearch({ open: undefined })
  const dialogs: Readonly<Record<string, ReactNode>> = {
    trust: <TrustDomainDialog workspaceId={workspace.id} onClose={close} />,
    change: <ChangeWorkspaceDialog workspace={workspace} onClose={close} />,
    suspend: <SuspendDialog kind="workspace" subject={workspace.id} onClose={close} />,
  }
  return dialogs[search['open'] ?? ''] ?? null
}

function SuspensionState({ workspace }: WorkspaceProps): ReactNode {
  const { operator, administration } = useTexts()
  const { workspaces: texts } = administration
  const [, changeSearch] = useAddressSearch()
  const [resume, dialog] = useResume()
  const { data } = useApi(adminListSuspensions, {})
  const suspension = data?.data.suspensions.find(
    ({ kind, subject }) => kind === 'workspace' && [workspace.id, workspace.name, workspace.key_part].includes(subject),
  )
  return (
    <>
      {suspension === undefined ? (
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="min-w-0 flex-1 basis-72 text-sm text-muted">
            {texts.suspend}: {texts.suspendAll}
          </p>
          <Button variant="danger" onClick={() => changeSearch({ open: 'suspend' })}>
            {texts.suspend}
          </Button>
        </div>
      ) : (
        <Callout
          tone="danger"
          title={`${texts.suspended}: ${operator.queue.scopes[suspension.scope]}`}
          action={
            <Button size="sm" onClick={() => resume(workspace.name, { workspace: workspace.id })}>
              {texts.resume}
            </Button>
          }
        >
          {suspension.reason}
        </Callout>
      )}
      {dialog}
    </>
  )
}

function WorkspaceFacts({ workspace }: WorkspaceProps): ReactNode {
  const { administration } = useTexts()
  const { workspaces: texts } = administration
  const { quota, keys } = workspace
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Card>
        <KeyValueList
          items={[
            { label: 'Id', value: <code className="font-mono text-sm break-all">{workspace.id}</code> },
            { label: texts.keyPart, value: <code className="font-mono text-sm break-all">{workspace.key_part}</code> },
            { label: texts.created, value: <DateTime value={workspace.created_at} /> },
            { label: texts.adminKeys, value: `${keys.admin} / ${keys.admin_limit}` },
            { label: texts.regularKeys, value: keys.regular },
          ]}
        />
      </Card>
      <Card className="flex flex-col gap-2">
        <Meter
          value={quota.used}
          max={quota.limit ?? Math.max(quota.used, 1)}
          label={texts.used}
          text={
            <>
              <NumberText value={quota.used} isExact /> /{' '}
              {quota.limit === null ? texts.unlimited : <NumberText value={quota.limit} isExact />}
            </>
          }
          tone={quota.limit === null ? 'neutral' : undefined}
        />
        <p className="text-sm text-muted">
          {texts.resets} <DateTime value={quota.resets_at} precision="day" />
        </p>
      </Card>
    </div>
  )
}
