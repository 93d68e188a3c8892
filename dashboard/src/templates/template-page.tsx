/** One template: its editor, and its versions. */
import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { getTemplate } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'
import { TemplateEditor } from './template-editor.tsx'
import { TemplateVersions } from './template-versions.tsx'

export function TemplatePage(): ReactNode {
  const { templates } = useTexts()
  const path = useWorkspacePath()
  const [search] = useAddressSearch()
  const { id = '' }: { readonly id?: string } = useParams({ strict: false })
  const query = useApi(getTemplate, { params: { id } })
  const breadcrumbs = [{ label: templates.title, href: path('/templates') }]
  const template = query.data?.data
  if (template === undefined)
    return (
      <>
        <PageHeader
          title={query.error === null ? <Skeleton className="h-7 w-56" /> : templates.template}
          breadcrumbs={breadcrumbs}
        />
        {query.error === null ? (
          <Skeleton className="h-[32rem] w-full" />
        ) : (
          <FailedQuery query={query} title={templates.oneNotLoaded} />
        )}
      </>
    )
  const isVersions = search['tab'] === 'versions'
  const tabs = (
    <LinkTabs
      label={template.name}
      tabs={[
        { href: path(`/templates/${id}`), label: templates.edit, isCurrent: !isVersions },
        {
          href: path(`/templates/${id}`, { tab: 'versions' }),
          label: templates.versions,
          count: template.version,
          isCurrent: isVersions,
        },
      ]}
    />
  )
  if (!isVersions) return <TemplateEditor key={id} template={template} breadcrumbs={breadcrumbs} tabs={tabs} />
  return (
    <>
      <PageHeader title={template.name} breadcrumbs={breadcrumbs} tabs={tabs} />
      <TemplateVersions template={template} />
    </>
  )
}
