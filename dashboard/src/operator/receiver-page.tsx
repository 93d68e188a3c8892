/** One receiver: what holds its mail, what it replied, and its mail over time. Replies are shown as text only. */
import { useParams } from '@tanstack/react-router'
import { CirclePause } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { adminGetDeliverability, type OperatorReceiverDesk } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { NumberText, Percent } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { StatTile } from '#dashboard/src/ui/stat-tile.tsx'
import { TimeSeriesChart } from '#dashboard/src/ui/time-series-chart.tsx'
import { Loaded } from './loaded.tsx'
import { ReceiverReasons, ReceiverSources } from './receiver-reasons.tsx'
import { ThrottleBadge } from '#dashboard/src/shared/receiver-table.tsx'
import { bouncesOf, fillIntervals, shareOf } from '#dashboard/src/shared/receiver-traffic.ts'
import { ReceiverThrottles } from './receiver-throttles.tsx'

export function ReceiverPage(): ReactNode {
  const { name = '' } = useParams({ strict: false })
  const { operator } = useTexts()
  const query = useApi(adminGetDeliverability, {})
  const receiver = query.data?.data.receivers.find((one) => one.name === name)
  return (
    <>
      <PageHeader
        title={receiver?.title ?? name}
        status={receiver === undefined ? undefined : <ThrottleBadge receiver={receiver} />}
        breadcrumbs={[{ label: operator.receivers.title, href: operatorPath('/receivers') }]}
        actions={receiver === undefined ? undefined : <SuspendLink receiver={receiver} />}
      />
      <Loaded query={query} lines={10}>
        {() =>
          receiver === undefined ? (
            <Card>
              <EmptyState title={operator.receivers.unknown} />
            </Card>
          ) : (
            <ReceiverDetails receiver={receiver} />
          )
        }
      </Loaded>
    </>
  )
}

interface ReceiverProps {
  readonly receiver: OperatorReceiverDesk
}

function SuspendLink({ receiver }: ReceiverProps): ReactNode {
  const { operator } = useTexts()
  const href = operatorPath('/queue', { view: 'suspensions', suspend: 'site', subject: receiver.domains[0] ?? '' })
  return (
    <ButtonLink icon={CirclePause} href={href}>
      {operator.queue.suspend}
    </ButtonLink>
  )
}

function ReceiverDetails({ receiver }: ReceiverProps): ReactNode {
  const { operator } = useTexts()
  const { receivers: texts } = operator
  const { day } = receiver
  return (
    <div className="flex flex-col gap-8">
      <div className="grid grid-cols-2 gap-4 md:grid-cols-3 xl:grid-cols-5">
        <StatTile label={texts.sent} value={<NumberText value={day.sent} />} hint={texts.day} />
        <StatTile
          label={texts.delivered}
          value={<Percent share={shareOf(day.delivered, day.sent)} />}
          hint={texts.day}
        />
        <StatTile label={texts.deferred} value={<NumberText value={day.deferred} />} hint={texts.day} />
        <StatTile label={texts.bounced} value={<NumberText value={bouncesOf(day)} />} hint={texts.day} />
        <StatTile
          label={texts.encrypted}
          value={<Percent share={shareOf(receiver.encrypted, day.sent)} />}
          hint={texts.day}
        />
      </div>
      <Section title={texts.throttle}>
        <ReceiverThrottles receiver={receiver} />
      </Section>
      <Course receiver={receiver} />
      <Section title={texts.reasons}>
        <ReceiverReasons receiver={receiver} />
      </Section>
      <div className="grid gap-8 lg:grid-cols-2">
        <Section title={texts.bySource}>
          <ReceiverSources receiver={receiver} />
        </Section>
        <Section title={texts.domains}>
          <Card>
            <KeyValueList
              items={receiver.domains.map((domain) => ({ key: domain, label: operator.site, value: domain }))}
            />
          </Card>
        </Section>
      </div>
    </div>
  )
}

function Course({ receiver }: ReceiverProps): ReactNode {
  const { operator } = useTexts()
  const { receivers: texts } = operator
  const [search, changeSearch] = useAddressSearch()
  const unit = search['period'] === 'week' ? 'day' : 'hour'
  const intervals = fillIntervals(unit === 'day' ? receiver.days : receiver.hours, unit, Date.now())
  const series = [
    { key: 'delivered', label: texts.delivered, values: intervals.map(({ traffic }) => traffic.delivered) },
    { key: 'deferred', label: texts.deferred, values: intervals.map(({ traffic }) => traffic.deferred) },
    { key: 'bounced', label: texts.bounced, values: intervals.map(({ traffic }) => bouncesOf(traffic)) },
  ]
  return (
    <Section
      title={texts.course}
      actions={
        <SegmentedControl
          size="sm"
          label={texts.course}
          value={unit}
          onChange={(value) => changeSearch({ period: value === 'day' ? 'week' : undefined })}
          segments={[
            { value: 'hour', label: texts.day },
            { value: 'day', label: texts.week },
          ]}
        />
      }
    >
      <Card>
        <TimeSeriesChart label={texts.course} times={intervals.map(({ start }) => start)} series={series} />
      </Card>
    </Section>
  )
}
