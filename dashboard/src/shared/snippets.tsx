/** The same code in several languages, one of them visible. */
import { useState, type ReactNode } from 'react'
import { CodeBlock } from '#dashboard/src/ui/code-block.tsx'
import { TabPanel, Tabs } from '#dashboard/src/ui/tabs.tsx'

export interface Snippet {
  readonly key: string
  readonly label: string
  readonly code: string
}

interface SnippetsProps {
  readonly label: string
  readonly snippets: readonly Snippet[]
}

export function Snippets({ label, snippets }: SnippetsProps): ReactNode {
  const [current, setCurrent] = useState(snippets[0]?.key ?? '')
  return (
    <Tabs
      label={label}
      value={current}
      onChange={setCurrent}
      tabs={snippets.map(({ key, label: name }) => ({ value: key, label: name }))}
    >
      {snippets.map(({ key, label: name, code }) => (
        <TabPanel key={key} value={key}>
          <CodeBlock title={name} text={code} />
        </TabPanel>
      ))}
    </Tabs>
  )
}
