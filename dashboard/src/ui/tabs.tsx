import { Tabs as RadixTabs } from 'radix-ui'
import { type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { UiLink } from './ui-link.tsx'

const LIST = 'flex gap-5 overflow-x-auto border-b border-line px-0.5 pt-0.5'
const TAB =
  '-mb-px inline-flex h-9 shrink-0 items-center gap-1.5 border-b-2 text-base whitespace-nowrap transition-colors ' +
  'focus-visible:outline-offset-[-2px] pointer-coarse:h-11'
const IDLE = 'border-transparent text-muted hover:text-ink'
const CURRENT = 'border-accent font-medium text-ink'

function Count({ count }: { count: ReactNode }) {
  return <span className="rounded-sm bg-sunken px-1 text-xs text-muted tabular-nums">{count}</span>
}

export interface LinkTab {
  href: string
  label: string
  count?: ReactNode
  isCurrent: boolean
}

/** Tabs whose views have addresses. */
export function LinkTabs({ tabs, label }: { tabs: readonly LinkTab[]; label: string }) {
  return (
    <nav aria-label={label} className={LIST}>
      {tabs.map((tab) => (
        <UiLink
          key={tab.href}
          href={tab.href}
          aria-current={tab.isCurrent ? 'page' : undefined}
          className={cx(TAB, tab.isCurrent ? CURRENT : IDLE)}
        >
          {tab.label}
          {tab.count !== undefined && <Count count={tab.count} />}
        </UiLink>
      ))}
    </nav>
  )
}

export interface StateTab<Value extends string> {
  value: Value
  label: string
  count?: ReactNode
}

export interface TabsProps<Value extends string> {
  value: Value
  onChange: (value: Value) => void
  tabs: readonly StateTab<Value>[]
  label: string
  /** One TabPanel per tab. */
  children: ReactNode
}

/** Tabs within a page. */
export function Tabs<Value extends string>({ value, onChange, tabs, label, children }: TabsProps<Value>) {
  return (
    <RadixTabs.Root value={value} onValueChange={(next) => onChange(next as Value)} className="min-w-0">
      <RadixTabs.List aria-label={label} className={LIST}>
        {tabs.map((tab) => (
          <RadixTabs.Trigger
            key={tab.value}
            value={tab.value}
            className={cx(TAB, tab.value === value ? CURRENT : IDLE)}
          >
            {tab.label}
            {tab.count !== undefined && <Count count={tab.count} />}
          </RadixTabs.Trigger>
        ))}
      </RadixTabs.List>
      {children}
    </RadixTabs.Root>
  )
}

export function TabPanel({ value, children }: { value: string; children: ReactNode }) {
  return (
    <RadixTabs.Content value={value} className="min-w-0 pt-4">
      {children}
    </RadixTabs.Content>
  )
}
