import type { ReactNode } from 'react'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'

type Tab = 'contacts' | 'segments' | 'imports'
const PATHS: Readonly<Record<Tab, string>> = {
  contacts: '/contacts',
  segments: '/contacts/segments',
  imports: '/contacts/imports',
}

/** The lists that belong together. */
export function ContactTabs({ current }: { readonly current: Tab }): ReactNode {
  const { shell } = useTexts()
  const path = useWorkspacePath()
  const tabs = (Object.keys(PATHS) as Tab[]).map((tab) => ({
    href: path(PATHS[tab]),
    label: shell.navigation[tab],
    isCurrent: tab === current,
  }))
  return <LinkTabs tabs={tabs} label={shell.navigation.contacts} />
}
