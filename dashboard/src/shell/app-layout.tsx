/** The frame of the signed-in pages: navigation at the side (a drawer on phones), search, connection, and the page. */
import { useLocation } from '@tanstack/react-router'
import { Menu as MenuIcon, Search } from '#dashboard/src/ui/icons.tsx'
import { useEffect, useState, type ReactNode } from 'react'
import type { Connection } from '#dashboard/src/api/changes.ts'
import { Logo } from '#dashboard/src/session/logo.tsx'
import type { Workspace } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Kbd } from '#dashboard/src/ui/kbd.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { ConnectionBadge } from './connection-badge.tsx'
import type { NavigationGroup } from './navigation.ts'
import { NavigationList } from './navigation-list.tsx'
import { PageCommands } from './page-commands.tsx'
import { UserMenu } from './user-menu.tsx'
import { WorkspaceMenu } from './workspace-menu.tsx'

interface AppLayoutProps {
  readonly groups: readonly NavigationGroup[]
  /** The address before the paths of the groups. */
  readonly basePath: string
  /** Null in the operator area. */
  readonly workspace: Workspace | null
  readonly connection: Connection
  readonly children: ReactNode
}

export function AppLayout({ groups, basePath, workspace, connection, children }: AppLayoutProps): ReactNode {
  const { shell } = useTexts()
  const [isOpen, setOpen] = useState(false)
  const [isSearching, setSearching] = useState(false)
  const { pathname } = useLocation()
  useEffect(() => setOpen(false), [pathname])
  const navigation = <NavigationList groups={groups} basePath={basePath} />
  return (
    <div className="min-h-dvh bg-background lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded-md focus:bg-surface focus:px-3 focus:py-2"
      >
        {shell.skipToContent}
      </a>
      <aside className="sticky top-0 hidden h-dvh flex-col border-r border-line bg-surface lg:flex">
        <div className="flex items-center gap-2 px-3 pt-3 pb-2">
          <WorkspaceMenu workspace={workspace} />
        </div>
        <div className="px-3 pb-1">
          <SearchButton onOpen={() => setSearching(true)} />
        </div>
        <div className="min-h-0 flex-1 overflow-y-auto px-3 py-2">{navigation}</div>
        <div className="flex items-center justify-between gap-2 border-t border-line px-3 py-2">
          <UserMenu />
          <ConnectionBadge connection={connection} />
        </div>
      </aside>
      <div className="flex min-w-0 flex-col">
        <header className="sticky top-0 z-20 flex h-12 items-center gap-2 border-b border-line bg-surface px-3 lg:hidden">
          <IconButton icon={MenuIcon} label={shell.openNavigation} onClick={() => setOpen(true)} />
          <Logo size={22} />
          <span className="min-w-0 flex-1 truncate font-medium">{workspace?.name ?? shell.operatorArea}</span>
          <ConnectionBadge connection={connection} />
          <IconButton icon={Search} label={shell.search} onClick={() => setSearching(true)} />
        </header>
        <main
          id="content"
          tabIndex={-1}
          className="mx-auto w-full max-w-[84rem] min-w-0 flex-1 px-4 py-6 outline-none sm:px-6 lg:px-8"
        >
          {children}
        </main>
      </div>
      <Sheet isOpen={isOpen} onOpenChange={setOpen} title={shell.product} side="left">
        <div className="flex flex-col gap-3">
          <WorkspaceMenu workspace={workspace} />
          {navigation}
          <UserMenu />
        </div>
      </Sheet>
      <PageCommands
        groups={groups}
        basePath={basePath}
        permissions={workspace?.permissions ?? []}
        isOpen={isSearching}
        onOpenChange={setSearching}
      />
    </div>
  )
}

function SearchButton({ onOpen }: { readonly onOpen: () => void }): ReactNode {
  const { shell } = useTexts()
  return (
    <button
      type="button"
      onClick={onOpen}
      className="flex h-8 w-full items-center gap-2 rounded-md border border-line bg-background px-2 text-sm text-muted hover:bg-hover"
    >
      <Search size={14} aria-hidden="true" />
      <span className="flex-1 truncate text-left">{shell.searchShort}</span>
      <Kbd keys="mod+k" />
    </button>
  )
}
