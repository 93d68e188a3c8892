/** The workspace itself: name, plan and usage, retention, and tracking. */
import type { ReactNode } from 'react'
import { getWorkspace, type GetWorkspaceAnswer } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { CopyField } from '#dashboard/src/ui/copy-field.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Meter } from '#dashboard/src/ui/meter.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { SettingsTabs } from './settings-tabs.tsx'
import { TrackingForm } from './tracking-form.tsx'
import { WorkspaceNameForm } from './workspace-name-form.tsx'

type WorkspaceDetails = GetWorkspaceAnswer['data']

export function SettingsPage(): ReactNode {
  const { people } = useTexts()
  const texts = people.settings
  const workspace = useApi(getWorkspace, {})
  const details = workspace.data?.data
  if (workspace.error !== null) return <FailedQuery query={workspace} title={texts.failed} />
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} tabs={<SettingsTabs current="general" />} />
      <div className="flex max-w-3xl flex-col gap-10">
        <Section title={texts.general}>
          <Card>
            {details === undefined ? (
              <SkeletonLines />
            ) : (
              <div className="flex flex-col gap-5">
                <WorkspaceNameForm key={details.name} name={details.name} />
                <KeyValueList items={[{ label: texts.id, value: <CopyField value={details.id} label={texts.id} /> }]} />
              </div>
            )}
          </Card>
        </Section>
        <Section title={texts.plan}>
          <Card>{details === undefined ? <SkeletonLines lines={5} /> : <PlanFacts details={details} />}</Card>
        </Section>
        <Section title={texts.retention} description={texts.retentionText}>
          <Card>{details === undefined ? <SkeletonLines /> : <RetentionFacts retention={details.retention} />}</Card>
        </Section>
        <Section title={texts.tracking}>
          <Card>
            <TrackingForm />
          </Card>
        </Section>
      </div>
    </>
  )
}

function PlanFacts({ details }: { readonly details: WorkspaceDetails }): ReactNode {
  const { people } = useTexts()
  const texts = people.settings
  const { quota, keys } = details
  const count = (value: number | null): ReactNode =>
    value === null ? texts.unlimited : <NumberText value={value} isExact />
  return (
    <KeyValueList
      items={[
        { label: texts.planName, value: <Badge tone="accent">{details.plan}</Badge> },
        {
          label: texts.quota,
          value:
            quota.limit === null ? (
              <>
                <NumberText value={quota.used} isExact /> ({texts.unlimited})
              </>
            ) : (
              <Meter
                isLabelHidden
                label={texts.quota}
                value={quota.used}
                max={quota.limit}
                text={texts.of(quota.used, quota.limit)}
              />
            ),
        },
        { label: texts.resets, value: <DateTime value={quota.resets_at} precision="day" /> },
        { label: texts.requestRate, value: count(details.request_rate.per_second) },
        { label: texts.domains, value: count(details.domains.limit) },
        { label: texts.adminKeys, value: texts.of(keys.admin, keys.admin_limit) },
        { label: texts.sendingKeys, value: <NumberText value={keys.regular} isExact /> },
      ]}
    />
  )
}

function RetentionFacts({ retention }: { readonly retention: WorkspaceDetails['retention'] }): ReactNode {
  const { people } = useTexts()
  const texts = people.settings
  return (
    <KeyValueList
      items={[
        { label: texts.bodies, value: texts.days(retention.bodies_days) },
        { label: texts.events, value: texts.days(retention.events_days) },
        { label: texts.messages, value: texts.days(retention.messages_days) },
      ]}
    />
  )
}
