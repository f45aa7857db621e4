{{/* Labels of everything that the chart makes. */}}
{{- define "vgpualloc.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* An image as a container names it: (list . .Values.scheduler.image "scheduler.image"). */}}
{{- define "vgpualloc.image" -}}
{{- $root := index . 0 }}{{ $image := index . 1 -}}
{{ required (printf "%s.repository: where the image was pushed to (no image is published)" (index . 2)) $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- end }}

{{/* The namespaces whose ConfigMaps the scheduler reads, each once. */}}
{{- define "vgpualloc.configNamespaces" -}}
{{ append .Values.deviceConfig.namespaces .Values.deviceConfig.namespace | uniq | sortAlpha | toJson }}
{{- end }}

{{/* Those whose ConfigMaps the extender reads: the devices' configuration's, and with its flag --mindcluster these two. */}}
{{- define "vgpualloc.extenderConfigNamespaces" -}}
{{ append (ternary (list "kube-system" "mindx-dl") list .Values.extender.mindCluster) .Values.deviceConfig.namespace | uniq | sortAlpha | toJson }}
{{- end }}

{{/* The text of device-config.yaml. */}}
{{- define "vgpualloc.deviceConfig" -}}
{{ .Values.deviceConfig.text | default (.Files.Get "files/device-config.yaml") }}
{{- end }}

{{/* The text of config.json of the device plugin's nodes. */}}
{{- define "vgpualloc.nodeConfig" -}}
{{ dict "nodeconfig" .Values.devicePlugin.nodeConfig.nodes | toPrettyJson }}
{{- end }}

{{/* That of the Ascend plugin's. */}}
{{- define "vgpualloc.ascendNodeConfig" -}}
{{ dict "nodes" .Values.ascendDevicePlugin.nodeConfig.nodes | toYaml }}
{{- end }}
