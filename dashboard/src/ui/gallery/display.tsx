import { Globe } from '#dashboard/src/ui/icons.tsx'
import { Avatar } from '#dashboard/src/ui/avatar.tsx'
import { Badge, StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { BarList } from '#dashboard/src/ui/bar-list.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { ErrorState } from '#dashboard/src/ui/error-state.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Meter, Progress } from '#dashboard/src/ui/meter.tsx'
import { ByteSize, NumberText, Percent } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SkeletonLines, SkeletonTable } from '#dashboard/src/ui/skeleton.tsx'
import { StatTile } from '#dashboard/src/ui/stat-tile.tsx'
import { Stepper } from '#dashboard/src/ui/stepper.tsx'
import { TimeSeriesChart } from '#dashboard/src/ui/time-series-chart.tsx'
import { DateTime, Duration, RelativeTime } from '#dashboard/src/ui/times.tsx'
import { BOUNCED, DEFERRED, DELIVERED, HOURS, OPEN_SHARE } from './gallery-data.ts'

const SOON = new Date(Date.now() + 540_000).toISOString()
const BEFORE = new Date(Date.now() - 184_000).toISOString()

const STACK = [
  { key: 'delivered', label: 'Delivered', values: DELIVERED, color: 1 as const },
  { key: 'deferred', label: 'Deferred', values: DEFERRED, color: 3 as const },
  { key: 'bounced', label: 'Bounced', values: BOUNCED, color: 4 as const },
]
const LINES = [{ key: 'opens', label: 'Opened', values: OPEN_SHARE, color: 5 as const }]

export function Figures() {
  return (
    <Section title="Figures" id="figures" description="Last 48 hours, all domains.">
      <div className="grid gap-4">
        <div className="grid grid-cols-1 gap-4 min-[30rem]:grid-cols-2 lg:grid-cols-4">
          <StatTile
            label="Delivered"
            value="124,318"
            delta={{ direction: 'up', text: '4.1 %', tone: 'success' }}
            trend={DELIVERED}
            href="/ui#table"
          />
          <StatTile
            label="Bounce rate"
            value="1.84 %"
            delta={{ direction: 'up', text: '0.3 %', tone: 'danger' }}
            trend={BOUNCED}
            trendTone="danger"
          />
          <StatTile
            label="Waiting"
            value="1,204"
            delta={{ direction: 'flat', text: '0 %', tone: 'neutral' }}
            trend={DEFERRED}
            trendTone="warning"
          />
          <StatTile label="Opened" value={null} trend={[]} />
        </div>
        <div className="grid gap-4 lg:grid-cols-2">
          <Card>
            <TimeSeriesChart label="Messages per hour" kind="stacked-bars" times={HOURS} series={STACK} />
          </Card>
          <Card>
            <TimeSeriesChart label="Share of opened messages" times={HOURS} series={LINES} format="percent" />
          </Card>
          <Card>
            <BarList
              label="Receivers"
              headings={['Receiver', 'Messages']}
              items={[
                { key: 'gmail', label: 'Gmail', value: 68_120, text: '68,120', href: '/ui#gmail' },
                { key: 'microsoft', label: 'Microsoft', value: 31_044, text: '31,044' },
                { key: 'telekom', label: 'Deutsche Telekom', value: 12_872, text: '12,872' },
                { key: 'yahoo', label: 'Yahoo', value: 8104, text: '8,104' },
                { key: 'other', label: 'Other receivers', value: 4178, text: '4,178', tone: 'neutral' },
              ]}
            />
          </Card>
          <Card className="flex flex-col justify-center gap-5">
            <Meter label="Plan" value={412_000} max={500_000} text="412,000 of 500,000" tone="warning" />
            <Progress label="Importing contacts" share={0.62} text="6,204 of 10,000" />
            <Progress label="Waiting for a place in the queue" share={null} text="2nd" />
          </Card>
        </div>
      </div>
    </Section>
  )
}

function States() {
  return (
    <>
      <Card padding="none">
        <EmptyState
          icon={Globe}
          title="No domains yet"
          text="Add the domain your mail comes from. You publish four DNS records, and Mailstead checks them."
          action={<Button variant="primary">Add a domain</Button>}
          docsHref="/docs"
        />
      </Card>
      <Card padding="none">
        <ErrorState
          title="The messages did not load"
          text="The server did not answer within 10 seconds. Check that PostgreSQL runs, then try again."
          requestId="req_7f3k2m9"
          onRetry={() => {}}
        />
      </Card>
      <Card>
        <SkeletonLines lines={4} />
      </Card>
      <Card padding="none">
        <SkeletonTable rows={3} columns={3} />
      </Card>
    </>
  )
}

export function Facts() {
  return (
    <Section title="Facts and states" id="facts">
      <div className="grid gap-4 lg:grid-cols-2">
        <Card>
          <KeyValueList
            items={[
              {
                label: 'State',
                value: (
                  <StatusBadge tone="warning" isLive>
                    Deferred, tries again
                  </StatusBadge>
                ),
              },
              {
                label: 'To',
                value: (
                  <EmailAddress address="a-very-long-local-part.with.many.words@customer.example" name="Ada Lovelace" />
                ),
              },
              { label: 'Accepted', value: <RelativeTime value={BEFORE} /> },
              { label: 'Next attempt', value: <RelativeTime value={SOON} /> },
              { label: 'Date', value: <DateTime value={BEFORE} precision="second" /> },
              { label: 'In the queue', value: <Duration seconds={3904} /> },
              { label: 'Size', value: <ByteSize bytes={48_213} /> },
              { label: 'Recipients', value: <NumberText value={1_204_318} /> },
              { label: 'Bounce rate', value: <Percent share={0.0042} /> },
            ]}
          />
        </Card>
        <Card className="flex flex-col gap-4">
          <div className="flex flex-wrap gap-2">
            <Badge>Sandbox</Badge>
            <Badge tone="accent">Marketing</Badge>
            <Badge tone="success">Verified</Badge>
            <Badge tone="warning">Warm-up</Badge>
            <Badge tone="danger">Suspended</Badge>
            <Badge tone="info" icon={Globe}>
              3 domains
            </Badge>
          </div>
          <div className="flex flex-wrap gap-x-4 gap-y-2">
            <StatusBadge tone="success">Delivered</StatusBadge>
            <StatusBadge tone="info" isLive>
              Sending
            </StatusBadge>
            <StatusBadge tone="danger">Bounced</StatusBadge>
            <StatusBadge tone="neutral">Cancelled</StatusBadge>
          </div>
          <div className="flex items-center gap-3">
            <Avatar name="Ada Lovelace" size="lg" />
            <Avatar name="Konrad Zuse" />
            <Avatar name="grace.hopper@navy.example" size="sm" />
          </div>
          <Stepper
            label="Campaign"
            currentKey="when"
            steps={[
              { key: 'who', label: 'Who', isDone: true, href: '/ui#who' },
              { key: 'what', label: 'What', isDone: true, href: '/ui#what' },
              { key: 'when', label: 'When', isDone: false },
              { key: 'check', label: 'Check', isDone: false },
            ]}
          />
          <Callout
            tone="warning"
            title="The domain's bounce rate is 4.6 %"
            action={<Button size="sm">See bounces</Button>}
          >
            Mailstead suspends the domain at 5 %.
          </Callout>
          <Callout tone="success">All records of mail.acme.example are in place.</Callout>
        </Card>
        <States />
      </div>
    </Section>
  )
}
