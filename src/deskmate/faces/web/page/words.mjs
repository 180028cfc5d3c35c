// The words of the page, in English and Chinese.

const CHINESE = {
  "Teams": "团队", "Overview": "总览", "Board": "任务", "Conversation": "对话", "Mail": "邮件", "Graph": "依赖图",
  "Timeline": "时间线", "Cost": "费用", "Changes": "改动", "Files": "文件", "Views": "视图", "Questions": "问题",
  "Members": "成员", "Member": "成员", "Models": "模型", "Model": "模型", "members": "位成员", "member": "位成员",
  "running": "运行中", "stopped": "已停止", "working": "工作中", "idle": "空闲", "waiting": "等待", "asks you": "有问题问你",
  "parked": "已停放", "left": "已离开", "empty": "空", "unknown": "未知", "blocked": "受阻", "ready": "待领取", "free": "待领取",
  "given": "已分配", "in progress": "进行中", "done": "完成", "dropped": "已放弃", "said": "已提出", "asked": "等待许可", "failed": "失败",
  "changed": "已修改", "created": "新建", "deleted": "已删除",
  "Send": "发送", "send": "发送", "Message to": "发给", "all members": "所有成员", "Interrupt": "打断", "Ask to leave": "请它离开",
  "Ask this teammate to leave the team for good?": "请这位成员永久离开团队吗？", "Stop the team": "停止团队",
  "Interrupt every member, so that the team stops?": "打断所有成员，让团队停止吗？", "Share": "分享", "Save as one file to share": "保存为一个文件以便分享",
  "Yes": "同意", "Always": "总是同意", "No": "拒绝", "Why not? (optional)": "为什么不？（可选）", "In your own words": "用自己的话",
  "Add a task": "添加任务", "Subject of the task": "任务标题", "Description": "说明", "Owner": "负责人", "anybody": "任何人", "Needs tasks": "依赖任务",
  "Role": "角色", "Author": "创建者", "Needs": "依赖", "Blocks": "阻塞", "waits for": "等待", "Merged": "已合并", "merged": "已合并", "Conflict": "冲突",
  "Conflicts": "冲突", "Changed": "更改时间", "Not merged": "未合并", "not merged": "未合并", "merging": "合并中", "Notes": "备注", "Task": "任务", "Tasks": "任务",
  "verified": "已验证", "not verified": "验证失败", "to verify": "待验证", "There was no such task then.": "那时还没有这个任务。",
  "There are no tasks.": "没有任务。", "Add one above, or ask the lead to plan the work.": "请在上面添加，或让负责人安排工作。", "Show all": "全部显示",
  "tasks": "个任务", "tasks done": "个任务完成", "tasks in a row": "个任务依次进行", "critical path": "关键路径", "Hide what is done": "隐藏已完成", "Smaller": "缩小", "Larger": "放大", "Fit": "适应窗口",
  "There is no mail.": "没有邮件。", "Latest mail": "最新邮件", "Last words": "最近的话", "said last": "最近说", "Whole conversation": "完整对话", "All mail": "全部邮件",
  "There are no teams here.": "这里没有团队。", "Say above what should be done. The lead of the team hires others if it needs them.": "请在上面写下要做的事。团队负责人会在需要时招募其他成员。",
  "What should a new team do?": "新团队要做什么？", "Options": "选项", "Permissions": "权限", "Name": "名称", "Stop at this cost": "费用上限", "Start a team": "启动团队", "Starting …": "正在启动…",
  "Plan first: change nothing until I agree": "先计划：我同意前不做更改", "Ask before edits, and before commands without a sandbox": "修改前询问；没有沙箱时执行命令前也询问",
  "Edit files, and ask before commands without a sandbox": "可修改文件；没有沙箱时执行命令前询问", "Ask nothing: deny what is not allowed": "不询问：拒绝未允许的操作",
  "Side by side": "并排显示", "Side by side with": "并排显示", "The lead of this team comes from team": "这个团队的负责人来自团队",
  "No connection. Trying again …": "连接已断开，正在重试…", "This team is not running.": "这个团队没有在运行。", "Resume": "继续运行", "What to tell the lead first (optional)": "先对负责人说什么（可选）",
  "Waiting for the conversation in the terminal to begin.": "正在等待终端中的对话开始。",
  "Nothing was said yet.": "还没有内容。", "Nothing has happened yet.": "还没有发生任何事。", "Show earlier": "显示更早的内容",
  "Search": "搜索", "Search all transcripts": "搜索所有对话", "Found": "搜索结果", "No transcript has these words.": "没有对话包含这些词。", "There is more. Search for more words.": "还有更多结果，请输入更多词。",
  "tokens": "词元", "Tokens": "词元", "model calls": "次模型调用", "Calls": "调用", "Group by": "分组", "Portion": "占比", "context": "上下文", "Age": "已有",
  "question for you": "个问题等你回答", "questions for you": "个问题等你回答",
  "Past": "回放", "Now": "现在", "Play": "播放", "Pause": "暂停", "Speed": "速度", "Time": "时间", "all in 30 s": "30 秒播完", "Reading the past …": "正在读取历史…",
  "Part": "部分", "the whole team": "整个团队", "not merged yet": "尚未合并", "Diff": "差异", "Whole file": "整个文件", "Filter files": "筛选文件", "No files.": "没有文件。",
  "Choose a file.": "请选择文件。", "Marked files differ from the first checkpoint of this team.": "有标记的文件与团队的第一个检查点不同。", "This file has no text.": "这个文件不是文本。",
  "Files as they were": "文件当时的状态：", "before": "之前：", "There is no checkpoint yet at this time.": "此时还没有检查点。",
  "Deskmate saves the files before each message of yours, each task and each merge.": "Deskmate 会在你的每条消息、每个任务和每次合并之前保存文件。",
  "Files are not in a saved page.": "保存的页面不包含文件。", "Changes are not in a saved page.": "保存的页面不包含改动。", "No model was asked yet.": "还没有调用模型。",
  "Files as they are now": "文件现在的状态", "Nothing had been said by then.": "那时还没有内容。",
  "pause": "暂停", "nothing was recorded": "没有任何记录", "pause cut out": "空白已省略", "pauses cut out": "空白已省略",
  "Not read yet": "尚未阅读", "Waits until the team runs again": "等团队再次运行时阅读", "Messages of yours that it has not read yet": "你发给它、它还没有读的消息",
  "has left the team and reads no mail any more.": "已离开团队，不再阅读邮件。", "Write to the lead": "写给负责人", "Have left": "已离开", "have left": "位已离开",
  "Began": "开始", "Ended": "结束", "Took": "用时", "So far": "至今用时", "task done": "个任务完成", "last active": "最近活动",
  "Notify me": "通知我", "Show a notification when a question waits": "有问题等待时显示通知",
  "Open the link that deskmate web printed. It has the token that this page needs.": "请打开 deskmate web 打印的链接，其中包含此页面需要的令牌。",
  "Show": "展开", "Close": "关闭", "now": "刚刚", "Keys": "快捷键", "search the transcripts": "搜索对话", "write a message": "写消息",
  "begin a new line": "换行", "close what is open": "关闭打开的内容", "these keys": "显示快捷键",
};
const chinese = (navigator.language || "").toLowerCase().startsWith("zh");
export const language = chinese ? "zh" : "en";

export function t(words) {
  return (chinese && CHINESE[words]) || words;
}

export function money(cost) {
  if (cost === null || cost === undefined) return "$ ?";
  return `$${cost > 0 && cost < 0.1 ? cost.toFixed(4) : cost.toFixed(2)}`;
}

export function ago(at, now) {
  const seconds = Math.max(0, Math.round(now - at));
  if (!at || seconds < 5) return t("now");
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

// How long something took.
export function duration(seconds) {
  const all = Math.max(0, Math.round(seconds));
  if (all < 60) return `${all} s`;
  const [large, small, first, rest] = all < 3600 ? [60, 1, "min", "s"] : all < 86400 ? [3600, 60, "h", "min"] : [86400, 3600, "d", "h"];
  const part = Math.floor((all % large) / small);
  return `${Math.floor(all / large)} ${first}${part && all < 10 * large ? ` ${part} ${rest}` : ""}`;
}

export function clock(at) {
  return new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

// A time on a line of time, as exactly as the line needs.
export function when(at, scale) {
  const date = new Date(at * 1000), sameDay = new Date(scale.begin * 1000).toDateString() === new Date(scale.end * 1000).toDateString();
  const time = { hour: "2-digit", minute: "2-digit", hour12: false, ...(scale.active < 3600 ? { second: "2-digit" } : {}) };
  const words = date.toLocaleTimeString([], time);
  return sameDay && date.toDateString() === new Date().toDateString() ? words : `${date.toLocaleDateString(language, { month: "short", day: "numeric" })} ${words}`;
}

export function day(at) {
  const date = new Date(at * 1000);
  return date.toDateString() === new Date().toDateString() ? "" : date.toLocaleDateString(language, { month: "short", day: "numeric" });
}
