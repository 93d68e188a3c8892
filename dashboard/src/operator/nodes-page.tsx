/** The machines of the installation with their processes. Live. */
import type { ReactNode } from 'react'
import {
  adminDrainNode,
  adminForgetNode,
  adminListNodes,
  adminUndrainNode,
  type Node,
} from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge, StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'
import { useConfirmation, useOperatorAction, type Confirmation } from './confirmation.tsx'
import { Loaded, PlainTable } from './loaded.tsx'

type Process = Node['processes'][number]
const TONES: Readonly<Record<Node['state'], Tone>> = {
  running: 'success',
  draining: 'warning',
  drained: 'neutral',
  silent: 'danger',
}
const CHANGED = ['/admin/nodes']

export function NodesPage(): ReactNode {
  const { administration } = useTexts()
  const { nodes: texts } = administration
  const query = useApi(adminListNodes, {})
  const [ask, dialog] = useConfirmation()
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} />
      <Loaded query={query}>
        {({ data }) => (
          <div className="flex flex-col gap-8">
            {data.nodes.map((node) => (
              <NodeSection key={node.name} node={node} ask={ask} />
            ))}
          </div>
        )}
      </Loaded>
      {dialog}
    </>
  )
}

interface NodeProps {
  readonly node: Node
  readonly ask: (confirmation: Confirmation) => void
}

function NodeSection({ node, ask }: NodeProps): ReactNode {
  const { administration } = useTexts()
  const { nodes: texts } = administration
  const columns = useProcessColumns()
  return (
    <Section
      title={node.name}
      description={
        <span className="flex flex-wrap items-center gap-x-3">
          <StatusBadge tone={TONES[node.state]}>{texts.states[node.state]}</StatusBadge>
          <span>
            {texts.leased}: <NumberText value={node.leased} isExact />
          </span>
          {node.seen_at !== null && (
            <span>
              {texts.seen} <RelativeTime value={node.seen_at} />
            </span>
          )}
        </span>
      }
      actions={<NodeActions node={node} ask={ask} />}
    >
      <PlainTable
        label={node.name}
        columns={columns}
        rows={node.processes}
        getRowId={({ id }) => id}
        empty={<p className="px-4 py-3 text-muted">{texts.noProcesses}</p>}
      />
    </Section>
  )
}

function NodeActions({ node, ask }: NodeProps): ReactNode {
  const { administration } = useTexts()
  const { nodes: texts } = administration
  const drain = useOperatorAction(adminDrainNode, CHANGED)
  const undrain = useOperatorAction(adminUndrainNode, CHANGED)
  const forget = useOperatorAction(adminForgetNode, CHANGED)
  const input = { params: { name: node.name } }
  const isDrained = node.state === 'draining' || node.state === 'drained'
  const askDrain = (): void =>
    ask({
      title: texts.drainTitle(node.name),
      text: texts.drainText(node.leased),
      label: texts.drain,
      isDanger: true,
      run: () => drain(input),
    })
  const askUndrain = (): void =>
    ask({
      title: texts.undrainTitle(node.name),
      text: texts.undrainText,
      label: texts.undrain,
      run: () => undrain(input),
    })
  const askForget = (): void =>
    ask({
      title: texts.forgetTitle(node.name),
      text: texts.forgetText(node.leased),
      label: texts.forget,
      isDanger: true,
      typeToConfirm: node.name,
      run: () => forget(input),
    })
  return (
    <div className="flex gap-2">
      {isDrained ? (
        <Button size="sm" onClick={askUndrain}>
          {texts.undrain}
        </Button>
      ) : (
        <Button size="sm" onClick={askDrain}>
          {texts.drain}
        </Button>
      )}
      {node.state !== 'running' && (
        <Button size="sm" variant="danger" onClick={askForget}>
          {texts.forget}
        </Button>
      )}
    </div>
  )
}

function useProcessColumns(): readonly DataColumn<Process>[] {
  const { operator, administration } = useTexts()
  const { nodes: texts } = administration
  return [
    {
      id: 'roles',
      header: texts.roles,
      cell: ({ roles }) => (
        <span className="flex flex-wrap gap-1">
          {roles.map((role) => (
            <Badge key={role}>{role}</Badge>
          ))}
        </span>
      ),
    },
    { id: 'version', header: texts.version, cell: ({ version }) => version, width: '7rem', priority: 2 },
    {
      id: 'sources',
      header: texts.sources,
      cell: ({ sources }) => (sources.length === 0 ? operator.none : sources.join(', ')),
      width: '20%',
      priority: 3,
    },
    {
      id: 'started',
      header: texts.started,
      cell: (row) => <RelativeTime value={row.started_at} />,
      width: '10rem',
      priority: 2,
    },
    {
      id: 'seen',
      header: texts.seen,
      cell: (row) => (row.is_silent ? texts.silent : <RelativeTime value={row.seen_at} />),
      width: '10rem',
    },
  ]
}
